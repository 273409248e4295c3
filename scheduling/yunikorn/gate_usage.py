"""What stands at the gates by Namespace, as it is stored: kept with each change, so that nobody counts all Pods.

What a Pod says of its reason counts only where it is one of ours: a user can write any text there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from scheduling.yunikorn.gated_pod import GatedPod
from scheduling.yunikorn.simulation import REJECTED, UNREADABLE_QUOTA
from scheduling.yunikorn.waiting import APPLICATIONS, GANG, HAS_ROOM, QUEUE_QUOTA, USER_QUOTA

UNREADABLE_QUEUES = "UnreadableQueues"
NAMESPACE_UNKNOWN = "NamespaceUnknown"
UNDECIDED = "Undecided"
"""Of a Pod that does not say yet why it waits."""
REASONS = (
    QUEUE_QUOTA,
    USER_QUOTA,
    APPLICATIONS,
    GANG,
    HAS_ROOM,
    REJECTED,
    UNREADABLE_QUOTA,
    UNREADABLE_QUEUES,
    NAMESPACE_UNKNOWN,
    UNDECIDED,
)


class GateUsage:
    """By Namespace, how many Pods wait and why, and what those use that have passed, in YuniKorn's units.

    Pods that are marked for the quota of `others` are theirs.
    """

    def __init__(self, others: frozenset[str] = frozenset()) -> None:
        self._others = others
        self._waiting: Counter[tuple[str, str]] = Counter()
        self._used: Counter[tuple[str, str]] = Counter()

    def change(self, before: GatedPod | None, after: GatedPod | None) -> None:
        """None: it was not there, or is gone."""
        if before is not None:
            self._count(before, -1)
        if after is not None:
            self._count(after, 1)

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """The Namespace, the reason, how many."""
        yield from ((namespace, reason, count) for (namespace, reason), count in self._waiting.items())

    def used(self, namespace: str, resource: str) -> int:
        return self._used.get((namespace, resource), 0)

    def _count(self, pod: GatedPod, sign: int) -> None:
        if pod.finished or pod.mark in self._others:
            return
        if not pod.gated:
            _add(self._used, {(pod.namespace, name): sign * amount for name, amount in pod.ask.amounts.items()})
        elif not pod.leaving:
            _add(self._waiting, {(pod.namespace, reason_of(pod)): sign})


def reason_of(pod: GatedPod) -> str:
    """Why it waits by its annotation, which begins with the reason."""
    said = pod.waits.partition(":")[0].partition(" ")[0]
    return said if said in REASONS else UNDECIDED


def _add(counts: Counter[tuple[str, str]], change: Mapping[tuple[str, str], int]) -> None:
    """What comes to nothing leaves nothing behind."""
    for key, amount in change.items():
        counts[key] += amount
        if not counts[key]:
            del counts[key]
