"""Grades of flavors for a request, and their comparison.

A `Grade` is a `Mode` and a borrowing level. A flavor has the grade of its worst resource.
Source: Kueue v0.19, pkg/scheduler/flavorassigner; KEP-582 and its `preference`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import PREEMPTION_OVER_BORROWING, TRY_NEXT_FLAVOR, Fungibility


class FlavorOutcome(IntEnum):
    """The outcome for the workload, worst first. DEFERRED_FIT: it fits after victims have ended."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3


class Mode(IntEnum):
    """The outcome in finer steps, worst first. Kueue calls it the granular mode.

    NO_CANDIDATES: preemption could help, but there are no candidates.
    PREEMPT: a workload of the same ClusterQueue has to be preempted.
    RECLAIM: only workloads of other ClusterQueues have to be preempted, which borrow.
    """

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4

    @property
    def outcome(self) -> FlavorOutcome:
        return _OUTCOMES[self]


_OUTCOMES = (
    FlavorOutcome.NO_FIT,
    FlavorOutcome.PREEMPT,
    FlavorOutcome.PREEMPT,
    FlavorOutcome.PREEMPT,
    FlavorOutcome.FIT,
)


class Grade(NamedTuple):
    """A grade.

    level: the borrowing level: 0 if the ClusterQueue's own quota has room, else the height of the lowest subtree with
        room.
    """

    mode: Mode
    level: int


BEST = Grade(Mode.FIT, 0)
WORST = Grade(Mode.NO_FIT, 2**31)

Simulate: TypeAlias = Callable[[FlavorResource, int], Grade]
"""The preemption that a ClusterQueue needs to use the amount of a pair: NO_CANDIDATES, PREEMPT or RECLAIM, and its
borrowing level afterwards."""


def better(a: Grade, b: Grade, fungibility: Fungibility) -> bool:
    """Whether `a` is better than `b`. False if they are equal."""
    if a.mode == Mode.NO_FIT or b.mode == Mode.NO_FIT:
        return a.mode != Mode.NO_FIT
    if (a.mode == Mode.NO_CANDIDATES) != (b.mode == Mode.NO_CANDIDATES):
        return b.mode == Mode.NO_CANDIDATES
    if fungibility.preference == PREEMPTION_OVER_BORROWING:
        return (-a.level, a.mode) > (-b.level, b.mode)
    return (a.mode, -a.level) > (b.mode, -b.level)


def worse_of(a: Grade, b: Grade, fungibility: Fungibility, compat: bool) -> Grade:
    """The grade of a flavor from the grades of two of its resources.

    Under PreemptionOverBorrowing, a resource that borrows ranks below one that needs a preemption. The flavor then gets
    the worse mode and the worse level. Kueue keeps only the worse grade, so it treats such a flavor as a fit
    (docs/adr/2026-11-21-worst-of-several-resources.md).
    """
    if fungibility.preference == PREEMPTION_OVER_BORROWING and not compat:
        return Grade(min(a.mode, b.mode), max(a.level, b.level))
    return b if better(a, b, fungibility) else a


def try_next(grade: Grade, fungibility: Fungibility) -> bool:
    """Whether the search goes on, because the next flavor may be better."""
    if grade.mode <= Mode.NO_CANDIDATES:
        return True
    if grade.mode != Mode.FIT and fungibility.when_can_preempt == TRY_NEXT_FLAVOR:
        return True
    return grade.level > 0 and fungibility.when_can_borrow == TRY_NEXT_FLAVOR
