"""What the loop shows its observer, and how long it waits."""

from __future__ import annotations

from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.observer.observer import NullObserver
from reconciler.shell.loop import Loop
from scheduling.objects.times import SECOND
from tests.reconciler.checked import Asks, Leads

START = 1_800_000_000 * SECOND


class Moments(NullObserver):
    def __init__(self) -> None:
        self.passed_at: list[int] = []

    def passed(self, now: int, seconds: float, /) -> None:
        self.passed_at.append(now)


def test_rounds_are_shown_at_the_moments_that_changes_are_shown_at() -> None:
    observer = Moments()
    loop = Loop(Core(ClusterState()), Asks(), Leads(), observer=observer, clock=lambda: START + SECOND // 2)
    loop.round(0)

    assert observer.passed_at == [START], "whole seconds, as conditions hold them"


def test_a_standby_that_has_nothing_to_do_waits_for_messages() -> None:
    loop = Loop(Core(ClusterState()), Asks(), Leads(lambda: False), clock=lambda: START)

    assert loop.patience(0.5) == 0.5
