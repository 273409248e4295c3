"""What happens in a simulation, as data. Moments are nanoseconds as everywhere; amounts are as quota counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from scheduling.cycle.placed import Placed
from scheduling.objects.amounts import FlavorResource


@dataclass(frozen=True, slots=True)
class Loan:
    """What of a workload's usage is above the nominal quota of its ClusterQueue.

    `lender` is the lowest Cohort whose own subtree has room for it; the root where no subtree has.
    """

    pair: FlavorResource
    amount: int
    lender: str


@dataclass(frozen=True, slots=True)
class Played:
    """An event of the command line, in its own words."""

    at: int
    event: str


@dataclass(frozen=True, slots=True)
class Reserved:
    """Quota was reserved; `admitted` False while it waits for `checks`."""

    at: int
    workload: str
    queue: str
    placed: tuple[Placed, ...]
    loans: tuple[Loan, ...]
    admitted: bool = True
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """The last check of a workload with quota has passed."""

    at: int
    workload: str
    queue: str


@dataclass(frozen=True, slots=True)
class Preempted:
    """It gave way to `preemptor`; `reason` is that of the condition Preempted, `message` what it is told."""

    at: int
    workload: str
    queue: str
    reason: str
    message: str
    preemptor: str
    preemptor_queue: str


@dataclass(frozen=True, slots=True)
class Evicted:
    """It lost its quota for a reason that is no preemption, as the condition Evicted has it."""

    at: int
    workload: str
    queue: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    at: int
    workload: str


Happening: TypeAlias = Played | Reserved | Admitted | Preempted | Evicted | Finished
