"""The head of a ClusterQueue in a cycle, and in which order heads are decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduling.flavors.assignment import Assignment
from scheduling.objects.workload import Workload
from scheduling.preemption.targets import Target
from scheduling.queues.pending import Entry
from scheduling.quota.state import Queue


@dataclass(slots=True, eq=False)
class Nominee:
    """A head that quota may be found for: what it would get, and who would have to leave for it.

    `preemptor`: others have left for it, so it goes before all who did not ask anybody to.
    """

    entry: Entry
    queue: Queue
    assignment: Assignment
    targets: list[Target] = field(default_factory=list)
    preemptor: bool = False

    @property
    def workload(self) -> Workload:
        return self.entry.workload

    @property
    def seniority(self) -> tuple[int, int, str]:
        """Higher priority first, then who waits longer, then by name."""
        return -self.workload.priority, self.entry.timestamp, self.workload.key


def classic_order(nominees: Iterable[Nominee], by_priority: bool = True) -> list[Nominee]:
    """Preemptors first, then who borrows least. `by_priority` is Kueue's gate PrioritySortingWithinCohort."""

    def key(nominee: Nominee) -> tuple[bool, int, tuple[int, int, str]]:
        priority, since, name = nominee.seniority
        return not nominee.preemptor, nominee.assignment.level, (priority if by_priority else 0, since, name)

    return sorted(nominees, key=key)
