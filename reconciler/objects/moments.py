"""Moments in nanoseconds, as conditions hold them: in whole seconds."""

from __future__ import annotations

from scheduling.objects.times import SECOND


def whole_second(now: int) -> int:
    return now // SECOND * SECOND


def next_second(at: int) -> int:
    """The first whole second at which this moment has come."""
    return -(-at // SECOND) * SECOND
