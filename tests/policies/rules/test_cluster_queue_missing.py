from __future__ import annotations

from policies.dialects.kueue import CLUSTER_QUEUE
from policies.judge import evaluate
from policies.model.findings import Severity
from tests.builders import COMPAT, EVERYTHING, change, cluster_queue, cohort, found, local_queue, missed, world

RULE = "cluster-queue-missing"
BUT_CLUSTER_QUEUES = [kind for kind in EVERYTHING if kind != CLUSTER_QUEUE]


def test_a_local_queue_to_an_existing_cluster_queue_is_fine() -> None:
    assert found(RULE, change(world(cluster_queue("research")), local_queue("main", "research"))) == []


def test_a_local_queue_to_nothing_is_warned_of() -> None:
    verdict = evaluate(change(world(cluster_queue("research")), local_queue("main", "reserch")))

    (judged,) = verdict.findings
    assert verdict.allowed
    assert (judged.rule.id, judged.severity) == (RULE, Severity.WARNING)
    assert judged.finding.field == "spec.clusterQueue"
    assert judged.finding.message == "ClusterQueue reserch does not exist; nothing is admitted from here until it does"


def test_kueue_says_nothing_so_in_compat_it_is_for_information() -> None:
    verdict = evaluate(change(world(), local_queue("main", "research"), configuration=COMPAT))

    assert [(judged.rule.id, judged.severity) for judged in verdict.findings] == [(RULE, Severity.INFO)]


def test_both_may_come_in_one_change_in_any_order() -> None:
    queue, local = cluster_queue("research"), local_queue("main", "research")

    assert found(RULE, change(world(), local, queue)) == found(RULE, change(world(), queue, local)) == []


def test_a_cohort_of_that_name_is_no_cluster_queue() -> None:
    assert len(found(RULE, change(world(cohort("research")), local_queue("main", "research")))) == 1


def test_where_not_all_cluster_queues_are_known_their_absence_proves_nothing() -> None:
    proposal = change(world(known=BUT_CLUSTER_QUEUES), local_queue("main", "research"))

    assert found(RULE, proposal) == []
    assert [result.reason for result in missed(RULE, proposal)] == ["not all objects of ClusterQueue are known"]


def test_one_that_is_there_is_there_however_little_is_known() -> None:
    before = world(cluster_queue("research"), known=BUT_CLUSTER_QUEUES)

    assert missed(RULE, change(before, local_queue("main", "research"))) == []


def test_a_local_queue_that_names_nothing_is_left_to_bad_structure() -> None:
    proposal = change(world(known=()), local_queue("main", ""))

    assert (found(RULE, proposal), missed(RULE, proposal)) == ([], [])
