"""The targets of a preemption, with the reason and message. Source: Kueue v0.19, pkg/scheduler/preemption."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scheduling.objects.workload import JOB_UID, Workload
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import Reservation

_UNKNOWN = "UNKNOWN"


class PreemptionReason(StrEnum):
    """The reason of the condition Preempted."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"


_CAUSES: dict[str, str] = {
    PreemptionReason.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    PreemptionReason.IN_COHORT_RECLAMATION: "reclamation within the cohort",
    PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
    PreemptionReason.IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
}


@dataclass(frozen=True, slots=True)
class PreemptionTarget:
    """A workload to preempt."""

    reservation: Reservation
    reason: PreemptionReason

    @property
    def key(self) -> str:
        return self.reservation.key

    def message(self, preemptor: Workload, queue: QuotaNode) -> str:
        """The message for the victim's conditions. `queue`: the ClusterQueue of the preemptor."""
        return eviction_message(preemptor, self.reason, path_of(queue), path_of(self.reservation.queue.node))


def path_of(node: QuotaNode) -> str:
    """The path from the root, for example /root/team/queue."""
    return "".join(f"/{each.name}" for each in reversed(node.path()))


def eviction_message(preemptor: Workload, reason: str, path: str, victim_path: str) -> str:
    """The message of an eviction in Kueue's words. Unknown values are UNKNOWN."""
    cause = _CAUSES.get(reason, _UNKNOWN)
    return (
        f"Preempted to accommodate a workload (UID: {preemptor.uid or _UNKNOWN}, "
        f"JobUID: {preemptor.labels.get(JOB_UID) or _UNKNOWN}) due to {cause}; "
        f"preemptor path: {path or _UNKNOWN}; preemptee path: {victim_path or _UNKNOWN}"
    )
