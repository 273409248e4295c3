"""How good a flavor is for a request, and which of two flavors is better.

`Mode` and how far the quota has to be borrowed from make a `Grade`. A flavor's grade is that of its worst resource.
Source: Kueue v0.19, pkg/scheduler/flavorassigner; KEP-582 and its `preference`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import PREEMPTION_OVER_BORROWING, TRY_NEXT_FLAVOR, Fungibility


class Outcome(IntEnum):
    """What a flavor means for the workload, worst first. DEFERRED_FIT: it fits once others have left."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3

    @property
    def label(self) -> str:
        """As Kueue writes it."""
        return _LABELS[self]


_LABELS = {
    Outcome.NO_FIT: "NoFit",
    Outcome.PREEMPT: "Preempt",
    Outcome.DEFERRED_FIT: "DeferredFit",
    Outcome.FIT: "Fit",
}


class Mode(IntEnum):
    """The same told apart finer, worst first.

    NO_CANDIDATES: preemption could help, but there is nobody to preempt. PREEMPT: somebody in the own ClusterQueue must
    leave. RECLAIM: only workloads of other ClusterQueues must, so what was lent comes back.
    """

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def outcome(self) -> Outcome:
        return _OUTCOMES[self]


_OUTCOMES = (Outcome.NO_FIT, Outcome.PREEMPT, Outcome.PREEMPT, Outcome.PREEMPT, Outcome.FIT)


class Grade(NamedTuple):
    """`level`: 0 where the ClusterQueue's own quota does, else the height of the lowest subtree whose quota does."""

    mode: Mode
    level: int


BEST = Grade(Mode.FIT, 0)
WORST = Grade(Mode.NO_FIT, 2**31)

Simulate: TypeAlias = Callable[[FlavorResource, int], Grade]
"""Who would have to leave so that a ClusterQueue can use so much more of a pair: NO_CANDIDATES, PREEMPT or RECLAIM, and
the borrowing level once they are gone."""


def better(a: Grade, b: Grade, fungibility: Fungibility) -> bool:
    """Whether `a` is to be taken before `b`; False both ways where they are alike."""
    if a.mode == Mode.NO_FIT or b.mode == Mode.NO_FIT:
        return a.mode != Mode.NO_FIT
    if (a.mode == Mode.NO_CANDIDATES) != (b.mode == Mode.NO_CANDIDATES):
        return b.mode == Mode.NO_CANDIDATES
    if fungibility.preference == PREEMPTION_OVER_BORROWING:
        return (-a.level, a.mode) > (-b.level, b.mode)
    return (a.mode, -a.level) > (b.mode, -b.level)


def worse_of(a: Grade, b: Grade, fungibility: Fungibility, compat: bool) -> Grade:
    """What two resources of one flavor come to.

    Under PreemptionOverBorrowing a resource that fits by borrowing counts as worse than one that needs a preemption;
    the flavor as a whole is as bad as each in its own respect. Kueue keeps the worse grade alone, and so takes the
    flavor for one that fits (docs/adr/2026-11-21-worst-of-several-resources.md).
    """
    if fungibility.preference == PREEMPTION_OVER_BORROWING and not compat:
        return Grade(min(a.mode, b.mode), max(a.level, b.level))
    return b if better(a, b, fungibility) else a


def try_next(grade: Grade, fungibility: Fungibility) -> bool:
    """Whether the search goes on to the next flavor in the hope for a better one."""
    if grade.mode <= Mode.NO_CANDIDATES:
        return True
    if grade.mode != Mode.FIT and fungibility.when_can_preempt == TRY_NEXT_FLAVOR:
        return True
    return grade.level > 0 and fungibility.when_can_borrow == TRY_NEXT_FLAVOR
