"""Who must give way by quota; see test_fair_preemption.py for shares."""

from __future__ import annotations

from fractions import Fraction

import pytest

from scheduling.flavors.modes import Grade, Mode
from scheduling.preemption.candidates import CandidatePrecedence
from scheduling.preemption.preemption import Preemptor, find_targets
from scheduling.quota.state import Options, QuotaState, Reservation
from tests.scheduling.drawn import CPU, GPU, draw, reported, usages, work

COMPAT = Options(compat=True)


def victims(state: QuotaState, queue: str, cpu: int, *words: str, gpu: int | None = None) -> dict[str, str]:
    """Of a workload that asks for so much, all of it short but gpu."""
    need = {CPU: cpu} if gpu is None else {CPU: cpu, GPU: gpu}
    return reported(find_targets(state, work("in", *words), state.queues[queue], need, {CPU}))


# -- in one ClusterQueue -----------------------------------------------------------------------------------------------

ALONE = """
    queue a cpu=6 within=LowerPriority
      work low   cpu=2 priority=-1
      work old   cpu=2 at=1
      work new   cpu=2 at=2
"""


def test_low_priority_goes_first_then_what_was_reserved_last() -> None:
    state = draw(ALONE)

    assert victims(state, "a", 2, "priority=1") == {"low": "InClusterQueue"}
    assert list(victims(state, "a", 4, "priority=1")) == ["low", "new"]
    assert list(victims(state, "a", 6, "priority=1")) == ["low", "new", "old"]
    assert victims(state, "a", 7, "priority=1") == {}


def test_a_changed_priority_counts_from_then_on() -> None:
    state = draw(ALONE)
    state.reserve(Reservation(work("low", "priority=1", "at=0"), state.queues["a"], {CPU: 2}))

    assert list(victims(state, "a", 2, "priority=1")) == ["new"]
    state.release("ns/new")
    assert list(victims(state, "a", 4, "priority=1")) == ["old"]


def test_equal_priority_stays() -> None:
    assert list(victims(draw(ALONE), "a", 2)) == ["low"]
    assert victims(draw(ALONE), "a", 3) == {}


def test_equal_priority_goes_if_it_has_waited_less_and_the_policy_says_so() -> None:
    state = draw("""
        queue a cpu=4 within=LowerOrNewerEqualPriority
          work older cpu=2 created=1
          work newer cpu=2 created=3
    """)

    assert list(victims(state, "a", 2, "created=2")) == ["newer"]
    assert victims(state, "a", 4, "created=2") == {}
    assert victims(state, "a", 2, "created=3") == {}


def test_workloads_that_began_to_wait_at_about_the_same_time_leave_each_other_alone_where_a_buffer_is_set() -> None:
    precedence = CandidatePrecedence(buffer=10)

    def allowed(created: int) -> bool:
        return precedence.allows("LowerOrNewerEqualPriority", work("in"), work("w", f"created={created}"))

    assert not allowed(10)
    assert allowed(11)


def test_who_is_not_needed_after_all_is_spared() -> None:
    state = draw("""
        queue a cpu=6 within=LowerPriority
          work low cpu=1 priority=-2
          work mid cpu=5 priority=-1
    """)

    assert list(victims(state, "a", 5)) == ["mid"]


def test_what_leaves_already_is_counted_first_whatever_its_priority() -> None:
    state = draw("""
        queue a cpu=4 within=LowerPriority
          work low     cpu=2 priority=-2
          work leaving cpu=2 priority=-1 evicted
    """)

    assert list(victims(state, "a", 2)) == ["leaving"]
    assert list(victims(state, "a", 4)) == ["leaving", "low"]


def test_what_is_away_already_makes_no_room_again() -> None:
    state = draw(ALONE)
    with state.without([state.reservations["ns/low"]]):
        assert list(victims(state, "a", 4, "priority=1")) == ["new"]


def test_only_who_uses_what_is_short_is_asked() -> None:
    state = draw("""
        queue a cpu=2 gpu=2 within=LowerPriority
          work on-gpu gpu=2 priority=-2
          work on-cpu cpu=2 priority=-1
    """)

    assert list(victims(state, "a", 2)) == ["on-cpu"]


def test_a_workload_does_not_give_way_to_itself() -> None:
    state = draw("""
        queue a cpu=2 within=Any
          work in cpu=2
    """)

    assert victims(state, "a", 2) == {}


def test_a_queue_that_admits_nothing_preempts_nobody() -> None:
    state = draw(ALONE)
    state.queues["a"].inactive = "stopped"

    assert victims(state, "a", 2, "priority=1") == {}


# -- what was lent comes back ------------------------------------------------------------------------------------------

LENT = """
    cohort root
      queue a cpu=4 reclaim=Any within=LowerPriority
      queue b cpu=2
        work b1 cpu=3 priority=9 at=1
        work b2 cpu=2 priority=9 at=2
      queue c cpu=2
        work c1 cpu=2 priority=-9
"""


def test_quota_is_taken_back_from_those_alone_who_borrow() -> None:
    assert victims(draw(LENT), "a", 3) == {"b2": "InCohortReclamation"}


def test_a_queue_gives_back_no_more_once_it_borrows_no_more() -> None:
    state = draw("""
        cohort root
          queue a cpu=4 reclaim=Any
          queue b cpu=2
            work b1 cpu=2 at=1
            work b2 cpu=2 at=2
          queue c cpu=0 stopped
            work c1 cpu=2
    """)

    assert list(victims(state, "a", 2)) == ["b2"]
    assert victims(state, "a", 3) == {}


def test_lower_priority_alone_where_the_policy_says_so() -> None:
    state = draw(LENT.replace("reclaim=Any", "reclaim=LowerPriority"))

    assert victims(state, "a", 3, "priority=9") == {}
    assert list(victims(state, "a", 3, "priority=10")) == ["b2"]


def test_other_queues_give_back_before_the_own_one_gives_way() -> None:
    state = draw("""
        cohort root
          queue a cpu=4 reclaim=Any within=LowerPriority
            work a1 cpu=2 priority=-9
          queue b cpu=2
            work b1 cpu=4
    """)

    assert victims(state, "a", 2) == {"b1": "InCohortReclamation"}
    assert victims(state, "a", 4) == {"b1": "InCohortReclamation", "a1": "InClusterQueue"}


def test_a_stopped_queue_gives_nothing_back() -> None:
    assert victims(draw(LENT.replace("queue b cpu=2", "queue b cpu=2 stopped")), "a", 3) == {}


def test_nobody_is_preempted_in_a_tree_with_a_cycle() -> None:
    state = draw("""
        cohort above
          cohort root
            queue a cpu=4 within=LowerPriority
              work a1 cpu=4 priority=-1
    """)
    assert list(victims(state, "a", 4)) == ["a1"]
    state.tree.put_cohort("above", "root", {})

    assert victims(state, "a", 4) == {}


# -- in trees ----------------------------------------------------------------------------------------------------------

E12 = """
    cohort r
      cohort m cpu=4
        queue a cpu=2 reclaim=Any
        queue q cpu=2
          work q1 cpu=2
      queue c cpu=4
        work c-old cpu=4 at=1
        work c1 cpu=3 at=2
        work c2 cpu=3 at=3
"""


def test_a_team_takes_back_for_its_member_what_belongs_to_the_team() -> None:
    """E12 of the quota semantics: 4 is more than A has, but not more than M has."""
    state = draw(E12)

    assert victims(state, "a", 4) == {"c1": "InCohortReclamation", "c2": "InCohortReclamation"}
    assert state.tree.queues["a"].borrowing_level(CPU, 7) == (2, False)
    assert victims(state, "a", 7) == {}


def test_beyond_what_the_team_has_the_priority_must_be_higher_and_the_policy_must_allow_to_borrow() -> None:
    text = E12.replace("queue c cpu=4", "queue c cpu=3")
    state = draw(text.replace("reclaim=Any", "reclaim=Any borrow=LowerPriority"))

    assert victims(draw(text), "a", 7, "priority=1") == {}
    assert victims(state, "a", 7) == {}
    assert dict.fromkeys(("c2", "c1", "c-old"), "InCohortReclaimWhileBorrowing") == victims(state, "a", 7, "priority=1")


def test_a_team_within_its_quota_shields_its_members() -> None:
    state = draw("""
        cohort r
          queue a cpu=2 reclaim=Any
          cohort team cpu=2
            queue t cpu=0
              work t1 cpu=2
          queue b cpu=0
            work b1 cpu=2
    """)

    assert list(victims(state, "a", 2)) == ["b1"]
    assert victims(state, "a", 3) == {}


def test_what_belongs_to_the_team_comes_back_before_priority_decides_within_it() -> None:
    state = draw("""
        cohort r
          cohort team cpu=2
            queue a cpu=2 reclaim=Any borrow=LowerPriority
            queue t cpu=0
              work t1 cpu=1 priority=-9
          queue b cpu=0
            work b1 cpu=2 priority=-1 at=1
            work b2 cpu=2 priority=-1 at=2
    """)

    assert list(victims(state, "a", 3)) == ["b2", "b1"]
    assert set(victims(state, "a", 4, "priority=1")) == {"t1", "b1", "b2"}


# -- borrowing in the place of others ----------------------------------------------------------------------------------

SHARED = """
    cohort root
      queue std  cpu=1 reclaim=LowerPriority within=LowerPriority borrow=LowerPriority threshold=0
        work mine cpu=1 priority=5
      queue best cpu=1
        work b-low  cpu=5 priority=0
        work b-high cpu=5 priority=1
      queue pool cpu=9
"""


def test_whoever_may_borrow_in_the_place_of_others_takes_from_those_below_the_threshold() -> None:
    state = draw(SHARED)

    assert victims(state, "std", 5, "priority=5") == {"b-low": "InCohortReclaimWhileBorrowing"}
    assert victims(state, "std", 6, "priority=5") == {}


def test_above_the_threshold_quota_comes_back_if_nothing_is_borrowed_then() -> None:
    state = draw("""
        cohort root
          queue std  cpu=2 reclaim=LowerPriority within=LowerPriority borrow=LowerPriority threshold=0
            work mine cpu=2 priority=-1
          queue best cpu=0
            work b-high cpu=2 priority=1
    """)

    assert victims(state, "std", 2, "priority=5") == {"b-high": "InCohortReclamation", "mine": "InClusterQueue"}
    assert victims(state, "std", 3, "priority=5") == {}


def test_who_must_not_borrow_in_the_place_of_others_may_still_borrow_when_its_own_give_way() -> None:
    state = draw("""
        cohort root
          queue a cpu=2 reclaim=Any within=LowerPriority
            work a1 cpu=4 priority=-1
          queue b cpu=4
            work b1 cpu=2
    """)

    assert victims(state, "a", 4) == {"a1": "InClusterQueue"}


# -- better than Kueue -------------------------------------------------------------------------------------------------

BORROWS_MEMORY = """
    cohort root
      queue a    cpu=2 gpu=0 reclaim=Any
        work a1  gpu=1
      queue b    cpu=2
        work b1  cpu=4 priority=9
      queue pool gpu=4
"""


def test_quota_is_taken_back_also_while_something_else_is_borrowed() -> None:
    lower = BORROWS_MEMORY.replace("priority=9", "priority=-1")
    assert victims(draw(lower), "a", 2, gpu=1) == {"b1": "InCohortReclamation"}
    assert victims(draw(lower, COMPAT), "a", 2, gpu=1) == {}


@pytest.mark.parametrize("priority", [0, 9])
def test_who_would_be_tried_before_the_preemptor_again_does_not_give_way(priority: int) -> None:
    alike = BORROWS_MEMORY.replace("priority=9", f"priority={priority}")
    assert victims(draw(alike), "a", 2, gpu=1) == {}


def test_a_request_of_nothing_is_within_any_quota() -> None:
    assert victims(draw(BORROWS_MEMORY), "a", 2, gpu=0) == {"b1": "InCohortReclamation"}
    assert victims(draw(BORROWS_MEMORY, COMPAT), "a", 2, gpu=0) == {}


# -- order -------------------------------------------------------------------------------------------------------------


def test_equal_candidates_go_by_uid() -> None:
    state = draw("""
        queue a cpu=2 within=LowerPriority
          work y cpu=1 priority=-1
          work x cpu=1 priority=-1
    """)

    assert list(victims(state, "a", 1)) == ["x"]


def test_a_reservation_that_is_only_being_made_is_the_newest() -> None:
    state = draw("""
        queue a cpu=2 within=LowerPriority
          work told   cpu=1 priority=-1 at=99
          work making cpu=1 priority=-1
    """)

    assert list(victims(state, "a", 1)) == ["making"]


def used_by_local_queue(reservation: Reservation) -> Fraction | None:
    return Fraction(reservation.workload.queue) if reservation.workload.queue else None


def test_where_local_queues_go_by_usage_the_highest_usage_gives_way_first() -> None:
    state = draw("""
        cohort root
          queue a cpu=2 reclaim=Any within=LowerPriority
            work frugal cpu=1 priority=-9 in=1
            work greedy cpu=1 priority=-1 in=2
    """)
    precedence = CandidatePrecedence(usage=used_by_local_queue)

    found = find_targets(state, work("in"), state.queues["a"], {CPU: 1}, {CPU}, precedence)

    assert list(reported(found)) == ["greedy"]


def test_the_usage_of_local_queues_says_nothing_between_cluster_queues() -> None:
    reservations = draw("""
        queue a cpu=2
          work a1 cpu=1 priority=3 in=9
          work a2 cpu=1 priority=1 in=1
        queue b cpu=2
          work b1 cpu=1 priority=2
    """).reservations.values()

    found = CandidatePrecedence(usage=used_by_local_queue).in_order(reservations, own="c")

    assert [each.workload.name for each in found] == ["b1", "a1", "a2"]


# -- the oracle --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "amount", "grade"),
    [
        ("a", 2, Grade(Mode.RECLAIM, 0)),
        ("a", 4, Grade(Mode.PREEMPT, 0)),
        ("c", 2, Grade(Mode.NO_CANDIDATES, 0)),
        ("c", 3, Grade(Mode.NO_CANDIDATES, 1)),
    ],
)
def test_the_oracle_says_what_it_takes_and_whether_that_is_borrowed(queue: str, amount: int, grade: Grade) -> None:
    state = draw("""
        cohort root
          queue a cpu=4 reclaim=Any within=LowerPriority
            work a1 cpu=2 priority=-9
          queue b cpu=2
            work b1 cpu=6
          queue c cpu=2
    """)
    before = usages(state)

    assert grade == Preemptor(state, state.queues[queue], work("in")).grade(CPU, amount)
    assert before == usages(state)
