"""How many Pods wait at the gates by Namespace and reason: kept with each change, so that nobody counts all Pods.

What a Pod says of its reason counts only where it is a known one: a user can write any text there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduling.queue_tree.pod_at_gate import PodAtGate

UNDECIDED = "Undecided"
"""The reason of a Pod that does not say yet why it waits."""
HAS_ROOM = "HasRoom"
HAS_ROOM_MESSAGE = "there is room for it, and its turn has not come"


class WaitingCounts:
    """`reasons` are those that are known; all else is UNDECIDED."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self._reasons = frozenset(reasons)
        self._counts: Counter[tuple[str, str]] = Counter()

    def change(self, before: PodAtGate | None, after: PodAtGate | None) -> None:
        """Count a changed Pod. None: it is new, or gone."""
        for pod, times in ((before, -1), (after, 1)):
            if pod is not None and pod.gated and not pod.deleting and not pod.ended:
                self._count((pod.namespace, self._reason(pod.waits)), times)

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """The Namespace, the reason, how many."""
        return ((namespace, reason, count) for (namespace, reason), count in self._counts.items())

    def _reason(self, waits: str) -> str:
        """The reason in the annotation, which begins with it."""
        said = waits.partition(":")[0].partition(" ")[0]
        return said if said in self._reasons else UNDECIDED

    def _count(self, key: tuple[str, str], times: int) -> None:
        self._counts[key] += times
        if not self._counts[key]:
            del self._counts[key]
