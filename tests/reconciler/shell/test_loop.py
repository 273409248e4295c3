"""What the loop shows its observer, and how long it waits."""

from __future__ import annotations

from typing import Any

import pytest

from reconciler.core.commands import Command
from reconciler.core.core import Core
from reconciler.core.events import LeadershipGained, LeadershipLost
from reconciler.core.state import ClusterState
from reconciler.observer.observer import NullObserver
from reconciler.shell.loop import Loop
from scheduling.objects.times import SECOND
from tests.reconciler.checked import Asks, Leads

_LEADERSHIP = (LeadershipGained, LeadershipLost)
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


@pytest.mark.parametrize(("later", "expected"), [(1, [True]), (2, [True, False, True])])
def test_leadership_that_was_lost_and_came_back_between_two_rounds_is_reported_as_both(
    later: int, expected: list[bool]
) -> None:
    terms = [1]
    core = Core(ClusterState())
    loop = Loop(core, Asks(), Leads(terms=lambda: terms[0]), clock=lambda: START)
    reported: list[bool] = []
    handle = core.handle

    def noted(events: Any, now: int) -> list[Command]:
        reported.extend(isinstance(each, LeadershipGained) for each in events if isinstance(each, _LEADERSHIP))
        return handle(events, now)

    core.handle = noted  # type: ignore[method-assign]
    loop.round(0)
    terms[0] = later
    loop.round(0)

    assert reported == expected


@pytest.mark.parametrize(("later", "resumed"), [(1, True), (2, False)])
def test_leadership_is_resumed_if_nobody_else_had_it(later: int, resumed: bool) -> None:
    leads, terms = [True], [1]
    core = Core(ClusterState())
    loop = Loop(core, Asks(), Leads(lambda: leads[0], terms=lambda: terms[0]), clock=lambda: START)
    reported: list[bool] = []
    handle = core.handle

    def noted(events: Any, now: int) -> list[Command]:
        reported.extend(each.resumed for each in events if isinstance(each, LeadershipGained))
        return handle(events, now)

    core.handle = noted  # type: ignore[method-assign]
    loop.round(0)
    leads[0] = False
    loop.round(0)
    leads[0], terms[0] = True, later
    loop.round(0)

    assert reported == [False, resumed]
