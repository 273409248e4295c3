"""Moments in nanoseconds, as conditions hold them."""

from __future__ import annotations

from scheduling.objects.times import SECOND


def whole_second(now: int) -> int:
    return now // SECOND * SECOND
