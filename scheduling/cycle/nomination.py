"""The nomination of a ClusterQueue's head in a cycle, and the order in which a cycle decides on heads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.places import TopologyPlacer
from scheduling.objects.workload import Workload
from scheduling.preemption.targets import PreemptionTarget
from scheduling.queues.pending import PendingEntry
from scheduling.quota.state import ClusterQueueState, Reservation
from scheduling.topology.fleet import HeldPlaces


@dataclass(slots=True, eq=False)
class Nomination:
    """A head with the flavors that it would get and the targets that it would preempt.

    goes_first: earlier cycles preempted others for it, so it comes before other heads.
    replaced: the workload whose quota it takes over; None if it takes over none.
    placer: finds its places in topologies; None if it needs none.
    recomputed: see Wait.
    """

    entry: PendingEntry
    queue: ClusterQueueState
    assignment: FlavorAssignment
    targets: list[PreemptionTarget] = field(default_factory=list)
    goes_first: bool = False
    replaced: Reservation | None = None
    placer: TopologyPlacer | None = None
    recomputed: bool = False

    @property
    def places(self) -> tuple[HeldPlaces, ...]:
        return self.placer.held(self.assignment) if self.placer is not None else ()

    @property
    def workload(self) -> Workload:
        return self.entry.workload

    @property
    def seniority(self) -> tuple[int, int, str]:
        """The sort key: higher priority first, then the longer wait, then the name."""
        return -self.workload.priority, self.entry.timestamp, self.workload.key


def classic_order(nominations: Iterable[Nomination], by_priority: bool = True) -> list[Nomination]:
    """Sort heads without fair sharing: preemptors first, then by borrowing level, then by seniority.

    by_priority: Kueue's gate PrioritySortingWithinCohort.
    """

    def key(nomination: Nomination) -> tuple[bool, int, tuple[int, int, str]]:
        priority, since, name = nomination.seniority
        return not nomination.goes_first, nomination.assignment.level, (priority if by_priority else 0, since, name)

    return sorted(nominations, key=key)
