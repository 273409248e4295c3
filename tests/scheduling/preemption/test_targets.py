from __future__ import annotations

import dataclasses

from scheduling.objects.workload import JOB_UID
from scheduling.preemption.targets import PreemptionReason, PreemptionTarget, eviction_message, path_of
from tests.scheduling.drawn import draw, work


def test_a_victim_is_told_who_needs_its_quota_and_where_both_stand() -> None:
    state = draw("""
        cohort root
          cohort left
            queue a
          queue b
            work w cpu=1
    """)
    target = PreemptionTarget(state.reservations["ns/w"], PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING)
    preemptor = dataclasses.replace(work("in"), uid="u-1", labels={JOB_UID: "j-1"})

    assert target.message(preemptor, state.tree.queues["a"]) == (
        "Preempted to accommodate a workload (UID: u-1, JobUID: j-1) due to reclamation within the cohort while "
        "borrowing; preemptor path: /root/left/a; preemptee path: /root/b"
    )
    assert target.key == "ns/w"


def test_what_is_not_known_is_told_as_unknown() -> None:
    assert eviction_message(dataclasses.replace(work("in"), uid=""), "Mood", "", "") == (
        "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to UNKNOWN; "
        "preemptor path: UNKNOWN; preemptee path: UNKNOWN"
    )


def test_a_queue_without_a_cohort_is_a_path_of_its_own() -> None:
    assert path_of(draw("queue a").tree.queues["a"]) == "/a"
