"""The trace of a simulation, as data. Times are in nanoseconds, amounts are as quota counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from scheduling.objects.amounts import FlavorResource
from scheduling.queue_tree.simulated import PlayedEvent
from scheduling.visibility.places import AdmittedPodSet


@dataclass(frozen=True, slots=True)
class Loan:
    """The part of a workload's usage that exceeds the nominal quota of its ClusterQueue.

    lender: the lowest Cohort whose own subtree has room for it, or else the root.
    """

    pair: FlavorResource
    amount: int
    lender: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """Quota was reserved. `admitted`: False while the workload waits for `checks`."""

    what: ClassVar[str] = "reserved"
    at: int
    workload: str
    queue: str
    pod_sets: tuple[AdmittedPodSet, ...]
    loans: tuple[Loan, ...]
    admitted: bool = True
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """The last check of a workload with quota became Ready."""

    what: ClassVar[str] = "admitted"
    at: int
    workload: str
    queue: str


@dataclass(frozen=True, slots=True)
class Preempted:
    """A workload was preempted by `preemptor`. `reason`, `message`: of its condition Preempted."""

    what: ClassVar[str] = "preempted"
    at: int
    workload: str
    queue: str
    reason: str
    message: str
    preemptor: str
    preemptor_queue: str


@dataclass(frozen=True, slots=True)
class Evicted:
    """A workload was evicted, but not preempted. `reason`, `message`: of its condition Evicted."""

    what: ClassVar[str] = "evicted"
    at: int
    workload: str
    queue: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A job finished."""

    what: ClassVar[str] = "finished"
    at: int
    workload: str


TraceEvent: TypeAlias = PlayedEvent | Reserved | Admitted | Preempted | Evicted | Finished
