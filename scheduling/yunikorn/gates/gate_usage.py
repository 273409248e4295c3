"""Counts Pods at the gates and their usage by Namespace, updated with each change of a Pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.pod_at_gate import HAS_ROOM, WaitingCounts
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod
from scheduling.yunikorn.simulation import REJECTED, UNREADABLE_QUEUES, UNREADABLE_QUOTA
from scheduling.yunikorn.waiting import APPLICATIONS, GANG, QUEUE_QUOTA, USER_QUOTA

NAMESPACE_UNKNOWN = "NamespaceUnknown"
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
)


class GateUsage:
    """For each Namespace: how many Pods wait and why, and the usage of Pods that passed, in YuniKorn's units.

    others: the projects whose Pods are not counted.
    """

    def __init__(self, others: frozenset[str] = frozenset()) -> None:
        self._others = others
        self._waiting = WaitingCounts(REASONS)
        self._used: Counter[tuple[str, str]] = Counter()

    def change(self, before: YuniKornGatedPod | None, after: YuniKornGatedPod | None) -> None:
        """Count a changed Pod. None: it did not exist before, or no longer exists."""
        before, after = self._ours(before), self._ours(after)
        self._waiting.change(before, after)
        for pod, times in ((before, -1), (after, 1)):
            if pod is not None and pod.has_passed and not pod.ended:
                amounts = pod.ask.amounts.items()
                add_to(self._used, {(pod.namespace, name): amount for name, amount in amounts}, times)

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """Yield the Namespace, the reason and the number of Pods."""
        return self._waiting.waiting()

    def used(self, namespace: str, resource: str) -> int:
        return self._used.get((namespace, resource), 0)

    def _ours(self, pod: YuniKornGatedPod | None) -> YuniKornGatedPod | None:
        return pod if pod is not None and pod.project not in self._others else None
