"""What a cycle decides, as data; who carries it out is somebody else's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from scheduling.flavors.assignment import Assignment
from scheduling.objects.workload import Workload
from scheduling.preemption.targets import Target
from scheduling.queues.pending import Requeue


@dataclass(frozen=True, slots=True)
class Reserve:
    """Quota is reserved for the workload in the ClusterQueue, with these flavors."""

    workload: Workload
    queue: str
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Preempt:
    """A workload that holds quota must give way to `preemptor`; `message` is what its conditions say."""

    target: Target
    preemptor: Workload
    message: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The workload was tried and waits on. `reason` and `message` are those of its condition QuotaReserved.

    `requeue` says why it goes back to its queue, `set_aside` that it is not tried before something changes.
    `assignment` is what was looked at, None where it did not come to that; `victims` is who leaves for it.
    """

    workload: Workload
    queue: str
    requeue: Requeue
    reason: str
    message: str
    assignment: Assignment | None = None
    victims: tuple[Target, ...] = ()
    set_aside: bool = False


Decision: TypeAlias = Reserve | Preempt | Wait
