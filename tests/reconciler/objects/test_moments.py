"""Moments in whole seconds."""

from __future__ import annotations

from reconciler.objects.moments import next_second, whole_second
from scheduling.objects.times import SECOND


def test_who_is_woken_for_a_moment_finds_that_it_has_come() -> None:
    for at in (3 * SECOND, 3 * SECOND + 1, 4 * SECOND - 1):
        assert whole_second(next_second(at)) >= at
        assert next_second(at) - at < SECOND
