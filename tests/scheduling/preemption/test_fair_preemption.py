"""Who must give way by fair shares; see test_preemption.py for the rest."""

from __future__ import annotations

from scheduling.preemption.candidates import CandidatePrecedence
from scheduling.preemption.preemption import find_targets
from scheduling.preemption.target_ordering import TargetOrdering
from scheduling.quota.shares import Shares
from scheduling.quota.state import LESS_THAN_INITIAL_SHARE, LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, Options, QuotaState
from tests.scheduling.drawn import CPU, GPU, draw, reported, work

FAIR = Options(fair_sharing=True)
FINAL_SHARE = Options(fair_sharing=True, strategies=(LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,))
INITIAL_SHARE = Options(fair_sharing=True, strategies=(LESS_THAN_INITIAL_SHARE,))


def victims(state: QuotaState, queue: str, cpu: int, *words: str, gpu: int | None = None) -> dict[str, str]:
    """Of a workload that asks for so much, all of it short but gpu."""
    need = {CPU: cpu} if gpu is None else {CPU: cpu, GPU: gpu}
    return reported(find_targets(state, work("in", *words), state.queues[queue], need, {CPU}))


THREE = """
    cohort root
      queue a cpu=3 reclaim=Any within=LowerPriority
      queue b cpu=3 reclaim=Any within=LowerPriority
        work b1 cpu=1 at=1
        work b2 cpu=1 at=2
        work b3 cpu=1 at=3
        work b4 cpu=1 at=4
        work b5 cpu=1 at=5
      queue c cpu=3 reclaim=Any within=LowerPriority
        work c1 cpu=1 at=6
        work c2 cpu=1 at=7
        work c3 cpu=1 at=8
        work c4 cpu=1 at=9
"""


def test_own_quota_comes_back_from_whoever_has_borrowed_most() -> None:
    assert victims(draw(THREE, FAIR), "a", 1) == {"b5": "InCohortReclamation"}
    assert list(victims(draw(THREE, FAIR), "a", 3)) == ["b5", "c4", "b4"]


def test_nobody_gives_back_more_than_it_has_borrowed() -> None:
    assert victims(draw(THREE, FAIR), "a", 4) == {}


def test_of_equal_shares_the_first_in_turn_gives_way() -> None:
    text = THREE.replace("queue a cpu=3", "queue a cpu=2").replace("        work b5 cpu=1 at=5\n", "")

    assert list(victims(draw(text, FAIR), "a", 1)) == ["c4"]
    assert list(victims(draw(text.replace("b4 cpu=1", "b4 cpu=1 priority=-1"), FAIR), "a", 1)) == ["b4"]


TWO = """
    cohort root
      queue a cpu=2 reclaim=Any within=LowerPriority
        work a1 cpu=3
      queue b cpu=2 reclaim=Any within=LowerPriority
        work b1 cpu=2 at=1
        work b2 cpu=3 at=2
      queue c cpu=4
"""


def test_what_is_borrowed_is_shared_as_long_as_the_other_keeps_as_much() -> None:
    """a would have borrowed 2 of 8; b, which has borrowed 3, is to be left with no less."""
    assert victims(draw(TWO, FINAL_SHARE), "a", 1) == {}
    text = TWO.replace("b1 cpu=2", "b1 cpu=1").replace("b2 cpu=3", "b2 cpu=4")

    assert victims(draw(text, FINAL_SHARE), "a", 1) == {"b1": "InCohortFairSharing"}


def test_who_had_more_than_the_preemptor_would_have_gives_way_by_the_second_strategy() -> None:
    assert victims(draw(TWO, FAIR), "a", 1) == {"b2": "InCohortFairSharing"}
    assert victims(draw(TWO, INITIAL_SHARE), "a", 1) == {"b2": "InCohortFairSharing"}
    assert victims(draw(TWO, FAIR), "a", 2) == {}


def test_weights_tell_what_is_fair() -> None:
    assert victims(draw(TWO.replace("queue b cpu=2", "queue b cpu=2 weight=2"), FAIR), "a", 1) == {}
    assert list(victims(draw(TWO.replace("queue a cpu=2", "queue a cpu=2 weight=2"), FAIR), "a", 2)) == ["b2"]


def test_whoever_borrows_with_weight_zero_gives_way_to_all_who_have_a_weight() -> None:
    weightless = TWO.replace("queue b cpu=2", "queue b cpu=2 weight=0")

    assert list(victims(draw(weightless, FAIR), "a", 3)) == ["b2"]
    assert victims(draw(TWO.replace("queue a cpu=2", "queue a cpu=2 weight=0"), FAIR), "a", 1) == {}


def test_the_own_queue_gives_way_when_its_share_is_the_highest() -> None:
    state = draw(
        """
        cohort root
          queue a cpu=2 reclaim=Any within=LowerPriority
            work a1 cpu=4 priority=-1
          queue b cpu=2
            work b1 cpu=3
          queue c cpu=3
        """,
        FAIR,
    )

    assert victims(state, "a", 4) == {"a1": "InClusterQueue"}


def test_without_a_cohort_the_own_queue_gives_way_in_turn() -> None:
    state = draw(
        """
        queue a cpu=2 within=LowerPriority
          work a1 cpu=1 priority=-1
          work a2 cpu=1 priority=-2
        """,
        FAIR,
    )

    assert list(victims(state, "a", 2)) == ["a2", "a1"]


NESTED = """
    cohort root
      cohort team
        queue a  cpu=2 reclaim=Any
        queue a2 cpu=2
          work idle cpu=0
      cohort rivals
        queue b  cpu=2
          work b1 cpu=6 priority=9
        queue b2 cpu=0
"""


def test_shares_are_compared_where_the_ways_up_part() -> None:
    """a would borrow 1, but of its team; the team as a whole borrows nothing and the rivals do."""
    state = draw(NESTED, Options(fair_sharing=True, compat=True))

    assert victims(state, "a", 3) == {"b1": "InCohortFairSharing"}


def test_a_team_within_its_quota_takes_it_back_without_comparing_shares() -> None:
    """The team has borrowed much gpu, which says nothing about cpu that belongs to it."""
    text = NESTED.replace("work idle cpu=0", "work idle gpu=9").replace("queue b2 cpu=0", "queue b2 cpu=0 gpu=9")

    assert victims(draw(text, FAIR), "a", 3) == {"b1": "InCohortReclamation"}
    assert victims(draw(text, Options(fair_sharing=True, compat=True)), "a", 3) == {}
    assert victims(draw(text, Options(fair_sharing=True, compat=True)), "a", 2) == {"b1": "InCohortReclamation"}


def test_who_lowered_our_share_is_not_spared_for_what_that_brought() -> None:
    """Without a1 a would have borrowed 1 and b has borrowed 2; with a1 it would be 3, and b would lose to more."""
    text = """
        cohort root
          queue a cpu=2 reclaim=Any within=LowerPriority
            work a1 cpu=2 priority=-1
          queue b cpu=2
            work b1 cpu=4
          queue c cpu=2
    """

    assert victims(draw(text, FAIR), "a", 3) == {"a1": "InClusterQueue", "b1": "InCohortFairSharing"}
    assert victims(draw(text, Options(fair_sharing=True, compat=True)), "a", 3) == {"b1": "InCohortFairSharing"}


def test_shares_alone_may_be_made_to_decide() -> None:
    shares_alone = Options(fair_sharing=True, nominal_first=False)

    assert victims(draw(THREE, shares_alone), "a", 1) == {"b5": "InCohortFairSharing"}


def test_a_cohort_that_borrows_nothing_shields_its_queues() -> None:
    state = draw(
        """
        cohort root
          queue a cpu=2 reclaim=Any
          cohort team cpu=2
            queue t cpu=0
              work t1 cpu=2
          queue b cpu=0
            work b1 cpu=2
        """,
        FAIR,
    )

    assert list(victims(state, "a", 2)) == ["b1"]
    assert victims(state, "a", 3) == {}


def test_in_a_cohort_and_a_queue_of_equal_share_the_cohort_is_asked_first() -> None:
    state = draw(
        """
        cohort root
          queue a cpu=2
          cohort team
            queue t cpu=1
              work t1 cpu=2
          queue b cpu=1
            work b1 cpu=2 priority=-1
        """
    )
    precedence = CandidatePrecedence()
    candidates = precedence.by_queue(state.reservations.values(), "a")
    contest = TargetOrdering(state.tree.queues["a"], candidates, Shares(), precedence)

    assert state.tree.queues["t"] is contest.pick()
    contest.drop(state.tree.queues["t"])
    assert state.tree.queues["b"] is contest.pick()
    assert contest.pop(state.tree.queues["b"]).workload.name == "b1"
    assert contest.pick() is None
