"""What a cycle keeps for a head that nobody can be preempted for."""

from __future__ import annotations

import pytest

from scheduling.cycle.cycle import quota_to_reserve
from scheduling.flavors.assignment import Assignment
from scheduling.flavors.modes import Outcome
from scheduling.objects.amounts import Usage
from scheduling.quota.state import State
from tests.scheduling.drawn import CPU, draw

LIMITED = """
    cohort root
      queue a cpu=4 cpu.borrow=2
        work w cpu=5
      queue b cpu=9
"""
CUT = LIMITED.replace("work w cpu=5", "work w cpu=9")


def kept(state: State, amount: int, level: int, *, compat: bool = False) -> Usage:
    return quota_to_reserve(state.queues["a"], Assignment((), {CPU: amount}, level, Outcome.PREEMPT), compat)


@pytest.mark.parametrize(("amount", "level", "expected"), [(1, 1, 1), (3, 1, 1), (3, 0, 0)])
def test_a_head_keeps_what_the_limits_of_its_queue_leave_it(amount: int, level: int, expected: int) -> None:
    assert kept(draw(LIMITED), amount, level) == {CPU: expected}


def test_without_a_limit_a_head_that_borrows_keeps_all() -> None:
    assert kept(draw(LIMITED.replace(" cpu.borrow=2", "")), 3, 1) == {CPU: 3}


def test_a_head_of_a_queue_above_its_limit_keeps_nothing() -> None:
    assert kept(draw(CUT), 3, 1) == {CPU: 0}
    assert kept(draw(CUT), 3, 1, compat=True) == {CPU: -3}
