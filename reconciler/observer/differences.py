"""What a comparison of our decisions with those of another controller or scheduler finds."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from scheduling.objects.times import SECOND

PATIENCE = 5 * SECOND
"""How long the other controller may take for a decision, and how far apart the two may observe the same change."""


class DifferenceKind(StrEnum):
    """How the other controller differs."""

    OVER_ADMITTED = "over-admitted"
    OUT_OF_ORDER = "out-of-order"
    OTHER_FLAVORS = "other-flavors"
    NOT_ADMITTED = "not-admitted"
    OTHER_VICTIM = "other-victim"
    NOT_EVICTED = "not-evicted"


class ComparisonResult(StrEnum):
    """The result of one comparison."""

    SAME = "same"
    DIFFERENT = "different"
    UNSURE = "unsure"


class DecisionDifference(NamedTuple):
    """A difference between two decisions.

    `workload`: `namespace/name`.
    `theirs`, `ours`: the decision of the other controller, and ours.
    `why`: the reason of our decision.
    """

    kind: DifferenceKind
    workload: str
    theirs: str
    ours: str
    why: str


Report = Callable[[ComparisonResult, DecisionDifference | None], None]
