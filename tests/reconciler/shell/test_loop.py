"""What the loop reports to its observer, and how long it waits."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Any

import pytest

from cluster.actions import Create
from cluster.errors import SetBack, Unreachable
from cluster.resource import LEASES
from reconciler.core.commands import Command
from reconciler.core.core import Core
from reconciler.core.events import LeadershipGained, LeadershipLost
from reconciler.core.state import ClusterState
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Written
from reconciler.observer.observer import NullObserver
from reconciler.shell.loop import ClockSetBack, Loop, Message
from reconciler.shell.pace import RoundPace
from scheduling.objects.times import SECOND
from tests.reconciler.checked import Asks, Leads

_ANSWER = Written(("Event", ""), Create(LEASES, {}, ""), {})
_SEEN = Observed(("ResourceFlavor", "plain"), "1", None)
_LEADERSHIP = (LeadershipGained, LeadershipLost)
START = 1_800_000_000 * SECOND


class Moments(NullObserver):
    def __init__(self) -> None:
        self.passed_at: list[int] = []

    def passed(self, now: int, seconds: float, /) -> None:
        self.passed_at.append(now)


def test_rounds_are_reported_in_whole_seconds() -> None:
    observer = Moments()
    loop = Loop(Core(ClusterState()), Asks(), Leads(), observer=observer, clock=lambda: START + SECOND // 2)
    loop.round(0)

    assert observer.passed_at == [START], "whole seconds, as conditions hold them"


def test_an_idle_standby_waits_for_messages() -> None:
    loop = Loop(Core(ClusterState()), Asks(), Leads(lambda: False), clock=lambda: START)

    assert loop.patience(0.5) == 0.5


def test_a_clock_that_is_set_far_back_ends_the_loop() -> None:
    now = [START]
    core = Core(ClusterState())
    loop = Loop(core, Asks(), Leads(), clock=lambda: now[0])
    core.writes.retries.pause(("Workload", "ns/w"), Unreachable("server", "no answer", "x"), START)
    loop.round(0)
    now[0] = START - 30 * SECOND
    loop.round(0)

    now[0] = START - 3600 * SECOND
    assert core.paused(now[0] + 3500 * SECOND)
    with pytest.raises(ClockSetBack, match="the clock was set back by 3600 s"):
        loop.round(0)


def test_an_api_server_that_is_set_back_ends_the_loop() -> None:
    loop = Loop(Core(ClusterState()), Asks(), Leads(), clock=lambda: START)
    loop.inbox.put(SetBack("the API server was set back"))

    with pytest.raises(SetBack):
        loop.round(0)


@pytest.mark.parametrize(("later", "expected"), [(1, [True]), (2, [True, False, True])])
def test_leadership_that_ended_and_returned_between_two_rounds_is_reported(later: int, expected: list[bool]) -> None:
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
def test_leadership_is_resumed_without_another_leader_in_between(later: int, resumed: bool) -> None:
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


class Inbox(queue.SimpleQueue[Message]):
    """Has these messages and no more. `waited`: the seconds for which the loop would have listened each time."""

    def __init__(self, *messages: Message) -> None:
        for each in messages:
            self.put(each)
        self.waited: list[float] = []

    def get(self, block: bool = True, timeout: float | None = None) -> Message:
        self.waited.append(timeout or 0.0)
        return super().get(block=False)


@pytest.mark.parametrize(
    ("message", "in_flight", "listens"),
    [
        (_ANSWER, (), False),
        (_ANSWER, [("LocalQueue", "team/main")], False),
        (_ANSWER, [("Job", "team/train")], True),
        (_ANSWER, [("LocalQueue", f"team/{number}") for number in range(30)], True),
        (_SEEN, (), True),
    ],
)
def test_the_loop_acts_at_once_after_the_last_expected_answer(
    message: Message, in_flight: Sequence[Key], listens: bool
) -> None:
    """Otherwise a single job would wait after each of its writes."""
    core, inbox = Core(ClusterState()), Inbox()
    loop = Loop(core, Asks(), Leads(), inbox=inbox, clock=lambda: START, _pace=RoundPace(lambda: 0.0))
    loop.round(0.5)
    core.state.records.in_flight.update(dict.fromkeys(in_flight))
    inbox.put(message)
    loop.round(0.5)

    assert (inbox.waited[-1] > 0) is listens
