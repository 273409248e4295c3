"""The decisions of a cycle, as data. The caller carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from scheduling.flavors.assignment import FlavorAssignment
from scheduling.objects.workload import Workload
from scheduling.preemption.targets import PreemptionTarget
from scheduling.queues.pending import Requeue
from scheduling.topology.fleet import HeldPlaces


@dataclass(frozen=True, slots=True)
class Reserve:
    """Reserve quota for the workload in the ClusterQueue, with these flavors. `places`: its places in topologies."""

    workload: Workload
    queue: str
    assignment: FlavorAssignment
    places: tuple[HeldPlaces, ...] = ()


@dataclass(frozen=True, slots=True)
class Preempt:
    """Preempt a workload for `preemptor`. `message`: for the conditions of the victim."""

    target: PreemptionTarget
    preemptor: Workload
    message: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The workload was tried and keeps waiting.

    requeue: why it returns to its queue.
    reason, message: for its condition QuotaReserved.
    assignment: the flavors that were tried; None if none were.
    victims: the workloads that are preempted for it.
    inadmissible: it is not tried again until something changes.
    reserves_capacity: later heads of the cycle could not get the capacity for which it waits.
    recomputed: it was nominated again, since another head of the cycle preempts some of its targets.
    """

    workload: Workload
    queue: str
    requeue: Requeue
    reason: str
    message: str
    assignment: FlavorAssignment | None = None
    victims: tuple[PreemptionTarget, ...] = ()
    inadmissible: bool = False
    reserves_capacity: bool = False
    recomputed: bool = False


Decision: TypeAlias = Reserve | Preempt | Wait
