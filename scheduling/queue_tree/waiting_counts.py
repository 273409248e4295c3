"""The number of Pods that wait at the gates, by Namespace and reason. It is updated with each change of a Pod.

The reason is read from an annotation. Only known reasons count, since a user can write any text there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.pod_at_gate import PodAtGate

UNDECIDED = "Undecided"
"""The reason of a Pod whose annotation has no known reason yet."""
HAS_ROOM = "HasRoom"
HAS_ROOM_MESSAGE = "there is room for it, and its turn has not come"


class WaitingCounts:
    """The counts. `reasons`: the known reasons; every other text counts as UNDECIDED."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self._reasons = frozenset(reasons)
        self._counts: Counter[tuple[str, str]] = Counter()

    def change(self, before: PodAtGate | None, after: PodAtGate | None) -> None:
        """Count a changed Pod. None: it did not exist before, or no longer exists."""
        for pod, times in ((before, -1), (after, 1)):
            if pod is not None and pod.gated and not pod.deleting and not pod.ended:
                add_to(self._counts, {(pod.namespace, self._reason(pod.waits)): times})

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """Yield the Namespace, the reason and the number of Pods."""
        return ((namespace, reason, count) for (namespace, reason), count in self._counts.items())

    def _reason(self, waits: str) -> str:
        """The reason at the beginning of the annotation."""
        said = waits.partition(":")[0].partition(" ")[0]
        return said if said in self._reasons else UNDECIDED
