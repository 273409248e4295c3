"""What came of writes: none is asked for again and again where that would come to the same."""

from __future__ import annotations

from reconciler.job_side import JobSide
from scheduling.objects.times import SECOND
from tests.reconciler.prompt import Prompt, job

ROUNDS = 100
FEW = ROUNDS // 3
"""More than backoffs allow in as many seconds."""


def test_a_job_that_is_gone_is_left_alone_until_the_watch_tells() -> None:
    world = Prompt((JobSide,))
    world.put(("Job", "ns/a"), job("a", suspend=False))
    world.delete_unheard(("Job", "ns/a"))
    world.rounds(ROUNDS)
    assert len(world.of("Job")) == 1

    world.rounds(ROUNDS, apart=SECOND)
    assert 1 < len(world.of("Job")) < FEW


def test_what_comes_back_under_the_name_of_one_that_was_gone_rests_no_more() -> None:
    world = Prompt((JobSide,))
    world.put(("Job", "ns/a"), job("a", suspend=False))
    world.delete_unheard(("Job", "ns/a"))
    world.rounds(3)
    world.put(("Job", "ns/a"), job("a", suspend=False))
    world.rounds(3)
    assert world.objects["Job", "ns/a"]["spec"]["suspend"]
