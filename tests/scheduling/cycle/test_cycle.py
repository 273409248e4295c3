"""Whole cycles on small clusters: which workloads get quota together, and the reasons of those that wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms
from scheduling.cycle.cycle import NO_LONGER_FITS, OVERLAPPING, quota_to_reserve
from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.modes import FlavorOutcome
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import (
    ANY,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
    CohortSettings,
    Fungibility,
    PreemptionPolicy,
)
from scheduling.preemption.targets import PreemptionReason
from scheduling.quota.state import LESS_THAN_INITIAL_SHARE, Options
from scheduling.status.eviction import preempt
from scheduling.world.decisions import Reserve
from tests.scheduling.cluster import FLAVORS, PAIRS, Cluster, queue_settings
from tests.scheduling.cycle.asking import ON_DEMAND, asks, cluster, reported, running, waits
from tests.scheduling.manifests import pod_set, workload


def test_the_head_of_every_queue_is_tried_in_one_cycle() -> None:
    made = cluster(("a", None, 2), ("b", None, 2))
    for each in (asks("a1", "a", 1), asks("a2", "a", 1), asks("b1", "b", 1)):
        made.put(each)

    assert reported(made.step()) == {"a1": "in a", "b1": "in b"}
    assert reported(made.step()) == {"a2": "in a"}
    assert made.step() == []


def test_quota_of_one_head_is_not_available_to_the_next() -> None:
    made = cluster(("a", "team", 2), ("b", "team", 2))
    made.put(asks("a1", "a", 3, at=1))
    made.put(asks("b1", "b", 3, at=2))

    decisions = made.step()

    assert reported(decisions) == {"a1": "in a", "b1": "WaitingForQuota"}
    assert waits(decisions)["b1"].message == NO_LONGER_FITS


def test_heads_that_borrow_less_go_first_whatever_their_priority() -> None:
    made = cluster(("a", "team", 2), ("b", "team", 2))
    made.put(asks("borrows", "a", 3, priority=9))
    made.put(asks("own", "b", 2))

    assert reported(made.step()) == {"own": "in b", "borrows": "WaitingForQuota"}


def test_lent_quota_is_reclaimed_by_preemption() -> None:
    policy = PreemptionPolicy(LOWER_PRIORITY, ANY)
    made = cluster(("a", "team", 2), ("b", "team", 2), preemption=policy)
    running(made, asks("a1", "a", 2, at=1), asks("a2", "a", 2, at=2))
    made.put(asks("b1", "b", 2))

    decisions = made.step()

    assert reported(decisions) == {"a2": "leaves for b1", "b1": "WaitingForPreemptedWorkloads"}
    assert waits(decisions)["b1"].message.endswith("2 more needed. Pending the preemption of 1 workload(s)")
    assert made.step() == [], "nothing is tried again before the victim has stopped"
    made.stop_victims()
    assert reported(made.step())["b1"] == "in b"


@pytest.mark.parametrize(
    ("borrowing", "counts", "policy"),
    [
        (None, (1, 1, 1), PreemptionPolicy(LOWER_PRIORITY)),
        (3, (1, 1, 3), PreemptionPolicy()),
        (None, (1, 1, 2), PreemptionPolicy(LOWER_PRIORITY)),
    ],
)
def test_pod_sets_that_fit_in_no_flavors_together_wait_until_something_changes(
    borrowing: int | None, counts: tuple[int, ...], policy: PreemptionPolicy
) -> None:
    """The flavors of each pod set are tried in turn; after the last one the search begins again with the first."""
    made, (on_demand, spot) = Cluster(), FLAVORS
    quota = {on_demand: Terms(1, borrowing), spot: Terms(1 if borrowing is None else 2)}
    made.put_queue(queue_settings("a", "team", quota, preemption=policy))
    sets = [pod_set(f"r{index}", gpu=str(count)) for index, count in enumerate(counts)]
    made.put(workload(*sets, spec={"queueName": "a", "priority": 0}, name="w", uid="w"))

    made.settle(12)
    assert made.running() == []

    made.put_queue(queue_settings("a", "team", {**quota, spot: Terms(5)}, preemption=policy))
    made.settle(12)
    assert made.running() == ["ns/w"]


def test_two_preemptors_do_not_share_one_victim() -> None:
    policy = PreemptionPolicy(LOWER_PRIORITY, ANY)
    made = cluster(("a", "team", 1), ("b", "team", 1), ("c", "team", 0), preemption=policy)
    running(made, asks("both", "c", 2))
    made.put(asks("a1", "a", 1, at=1))
    made.put(asks("b1", "b", 1, at=2))

    decisions = made.step()

    assert reported(decisions)["both"] == "leaves for a1"
    assert waits(decisions)["b1"].message == OVERLAPPING


def test_two_preemptors_share_one_victim_that_is_enough_for_both() -> None:
    policy, options = PreemptionPolicy(LOWER_PRIORITY, ANY), Options(recompute_on_overlap=True)
    made = cluster(("a", "team", 1), ("b", "team", 1), ("c", "team", 0), preemption=policy, options=options)
    running(made, asks("both", "c", 2))
    made.put(asks("a1", "a", 1, at=1))
    made.put(asks("b1", "b", 1, at=2))
    decisions = made.step()
    assert reported(decisions) == {
        "both": "leaves for a1",
        "a1": "WaitingForPreemptedWorkloads",
        "b1": "WaitingForPreemptedWorkloads",
    }
    assert {name: each.recomputed for name, each in waits(decisions).items()} == {"a1": False, "b1": True}
    made.settle()

    assert made.running() == ["ns/a1", "ns/b1"]


def test_all_pods_are_tried_again_when_another_head_takes_a_victim() -> None:
    """At first only three of the four pods had targets, since with four its queue would borrow and may not reclaim.

    The other head preempts more, so that a workload of its own queue is enough for all four.
    """
    policy, options = PreemptionPolicy(LOWER_PRIORITY, ANY), Options(recompute_on_overlap=True)
    made = cluster(("a", "team", 6), ("b", "team", 4), ("c", "team", 0), preemption=policy, options=options)
    lower = (asks("old", "a", 4, priority=-1), asks("both", "c", 4), asks("mine", "b", 1, priority=-1))
    running(made, *lower, asks("stays", "b", 1, priority=1))
    made.put(asks("a1", "a", 5, at=1))
    shrinking = {**pod_set(count=4, gpu="1"), "minCount": 1}
    made.put(replace(workload(shrinking, spec={"queueName": "b", "priority": 0}, name="b1", uid="b1"), created=2))

    assert reported(made.step()) == {
        "old": "leaves for a1",
        "both": "leaves for a1",
        "a1": "WaitingForPreemptedWorkloads",
        "mine": "leaves for b1",
        "b1": "WaitingForPreemptedWorkloads",
    }


def test_no_workload_starts_beside_a_victim_unless_both_fit() -> None:
    """The victim uses three of four. Kueue admits two more workloads of one each before the victim has stopped."""
    used = {}
    for compat in (False, True):
        policy = PreemptionPolicy(LOWER_PRIORITY, ANY)
        queues = (("a", "team", 2), ("b", "team", 1), ("c", "team", 0), ("d", "team", 1))
        made = cluster(*queues, preemption=policy, options=Options(compat=compat))
        running(made, asks("c1", "c", 3))
        for at, each in enumerate((asks("a1", "a", 2), asks("b1", "b", 1), asks("d1", "d", 1))):
            made.put(replace(each, created=at + 1))
        made.step()
        used[compat] = made.world.state.tree.cohorts["team"].used(PAIRS[0])

    assert used == {False: 4, True: 5}


def test_a_blocked_head_reserves_the_free_nominal_quota_of_its_queue() -> None:
    """It may not reclaim, so other heads must not take the quota that it waits for in this cycle."""
    made = cluster(("a", "team", 3), ("b", "team", 0))
    running(made, asks("a1", "a", 2))
    made.put(asks("a2", "a", 3, at=1))
    made.put(asks("b1", "b", 1, at=2))

    assert reported(made.step()) == {"a2": "WaitingForQuota", "b1": "WaitingForQuota"}


def test_a_queue_over_its_borrowing_limit_reserves_no_negative_amount() -> None:
    made = cluster(("a", "team", 1))
    queue = made.world.state.queues["a"]
    made.put_queue(queue_settings("a", "team", {ON_DEMAND: Terms(1, 1)}))
    made.world.state.tree.add(queue.node, {PAIRS[0]: 5})
    wanted = FlavorAssignment((), {PAIRS[0]: 2}, 1, FlavorOutcome.PREEMPT)

    assert quota_to_reserve(queue, wanted) == {PAIRS[0]: 0}
    assert quota_to_reserve(queue, wanted, compat=True) == {PAIRS[0]: -3}


def test_a_cohort_cycle_stops_admission_and_keeps_running_work_until_it_is_removed() -> None:
    made = cluster(("a", "c0", 4))
    running(made, asks("a1", "a", 1))
    made.put_cohort(CohortSettings("c1", "c0", {}))
    made.put_cohort(CohortSettings("c0", "c1", {}))
    made.put(asks("a2", "a", 1))

    assert made.step() == []
    assert made.running() == ["ns/a1"]
    ready = made.world.can_admit("a")
    assert (ready.active, ready.reason) == (False, "CohortCycleDetected")
    assert "c0 -> c1 -> c0" in ready.message

    made.put_cohort(CohortSettings("c0", None, {}))

    assert reported(made.step()) == {"a2": "in a"}


def test_workloads_with_unsupported_topologies_or_resource_claims_are_not_admitted() -> None:
    made = cluster(("a", None, 4))
    topology = {**pod_set(gpu="1"), "topologyRequest": {"required": "rack"}}
    made.put(workload(topology, spec={"queueName": "a"}, name="racked", uid="racked"))
    made.put(asks("claims", "a", 1, resourceClaims=[{"name": "gpu", "resourceClaimName": "shared"}]))

    found = waits([*made.step(), *made.step()])

    assert {name: wait.reason for name, wait in found.items()} == {"racked": "Misconfigured"}
    assert "topology" in found["racked"].message
    assert made.running() == []


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"podIndexLabel": "batch.kubernetes.io/job-completion-index"},
        {"podIndexLabel": "index", "subGroupIndexLabel": "job-index", "subGroupCount": 2, "podSetGroupName": "lws"},
        {"required": "", "preferred": "", "unconstrained": None, "podsetSliceRequiredTopologyConstraints": []},
    ],
)
def test_a_pod_index_label_alone_is_not_a_topology_request(request_: dict[str, Any]) -> None:
    made = cluster(("a", None, 4))
    made.put(
        workload({**pod_set(gpu="1"), "topologyRequest": request_}, spec={"queueName": "a"}, name="one", uid="one")
    )

    assert reported(made.step()) == {"one": "in a"}


@pytest.mark.parametrize(
    "request_",
    [
        {"required": "rack"},
        {"preferred": "rack"},
        {"unconstrained": True},
        {"unconstrained": False},
        {"podSetSliceSize": 2},
        {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2},
        {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]},
    ],
)
def test_a_level_or_a_slice_is_a_topology_request(request_: dict[str, Any]) -> None:
    made = cluster(("a", None, 4))
    asked = {**pod_set(gpu="1"), "topologyRequest": {**request_, "podIndexLabel": "index"}}
    made.put(workload(asked, spec={"queueName": "a"}, name="one", uid="one"))

    (wait,) = waits(made.step()).values()

    assert "pod set main requests a topology" in wait.message
    assert made.running() == []


def test_a_queue_with_only_topology_flavors_admits_nothing() -> None:
    made = cluster(("a", None, 4))
    made.world.put_flavor(Flavor(ON_DEMAND, {}, topology="racks"))
    made.put(asks("a1", "a", 1))

    assert reported(made.step()) == {"a1": "Misconfigured"}


def test_fewer_pods_are_admitted_where_not_all_fit() -> None:
    made = cluster(("a", None, 3))
    shrinking = {**pod_set(count=5, gpu="1"), "minCount": 2}
    made.put(workload(shrinking, spec={"queueName": "a"}, name="some", uid="some"))

    (decision,) = made.step()

    assert isinstance(decision, Reserve)
    assert decision.assignment.counts == (3,)
    assert decision.assignment.usage == {FlavorResource(ON_DEMAND, "gpu"): 3}


def test_without_partial_admission_a_workload_waits_for_all_pods() -> None:
    made = cluster(("a", None, 3), options=Options(partial_admission=False))
    shrinking = {**pod_set(count=5, gpu="1"), "minCount": 2}
    made.put(workload(shrinking, spec={"queueName": "a"}, name="some", uid="some"))

    assert reported(made.step()) == {"some": "ExceedsMaxQuota"}


def test_a_reservation_that_could_not_be_written_is_forgotten() -> None:
    made = cluster(("a", None, 1))
    made.put(asks("a1", "a", 1))
    (decision,) = made.engine.step(made.now)
    assert isinstance(decision, Reserve)
    assert made.world.state.tree.queues["a"].used(PAIRS[0]) == 1

    made.world.forget("ns/a1", made.now)

    assert made.world.state.tree.queues["a"].used(PAIRS[0]) == 0
    assert reported(made.step()) == {"a1": "in a"}


def test_a_stale_watch_event_does_not_free_reserved_quota() -> None:
    made = cluster(("a", None, 1))
    before = asks("a1", "a", 1)
    made.put(before)
    made.engine.step(made.now)

    made.world.put_workload(before, made.now)
    made.put(asks("a2", "a", 1))

    assert reported(made.engine.step(made.now)) == {"a2": "WaitingForQuota"}


def test_an_evicted_workload_that_gets_quota_again_blocks_a_larger_one() -> None:
    made = cluster(("a", None, 2))
    running(made, asks("small", "a", 1))
    made.write(preempt(made.workloads["ns/small"], PreemptionReason.IN_CLUSTER_QUEUE, "", made.now))
    made.stop_victims()
    made.put(asks("other", "a", 1, priority=2))
    made.put(asks("large", "a", 2, priority=1))
    steps = [reported(made.step()) for _ in range(4)]

    assert steps == [{"other": "in a"}, {"large": "WaitingForQuota"}, {"small": "in a"}, {}]


def test_a_head_without_candidates_is_tried_again_after_others_got_more() -> None:
    options = Options(fair_sharing=True, strategies=(LESS_THAN_INITIAL_SHARE,))
    made = cluster(("a", "team", 2), ("b", "team", 2), ("c", "team", 1), options=options)
    reclaims = PreemptionPolicy(reclaim_within_cohort=ANY)
    made.put_queue(replace(made.queues["a"], strategy=STRICT_FIFO, preemption=reclaims))
    running(made, asks("large", "b", 3))
    made.put(asks("head", "a", 3))
    made.settle()
    assert reported(made.decided) == {"head": "WaitingForQuota"}

    made.put(asks("more", "b", 1, priority=1))
    made.settle()

    assert made.running() == ["ns/head", "ns/more"]


@pytest.mark.parametrize(("fair_sharing", "lent", "asked"), [(True, 3, 4), (False, 0, 3)])
def test_two_workloads_do_not_take_turns_in_preempting_each_other(fair_sharing: bool, lent: int, asked: int) -> None:
    """One reclaims a flavor within its quota and borrows another, so it borrows more once its victim has stopped."""
    made = Cluster(Options(fair_sharing=fair_sharing, preemptors_first=True))
    made.put_cohort(CohortSettings("team", None, {PAIRS[0]: Terms(1), PAIRS[1]: Terms(0)}))
    policy = PreemptionPolicy(reclaim_within_cohort=ANY)
    wary = Fungibility(TRY_NEXT_FLAVOR, MAY_STOP_SEARCH)
    quota = {FLAVORS[0]: Terms(0), FLAVORS[1]: Terms(3)}
    made.put_queue(queue_settings("a", "team", quota, preemption=policy, fungibility=wary))
    made.put_queue(queue_settings("b", "team", {FLAVORS[1]: Terms(lent)}, preemption=policy))
    running(made, asks("b1", "b", asked))

    two = workload(pod_set("p0", gpu="3"), pod_set("p1", gpu="1"), spec={"queueName": "a"}, name="a1", uid="a1")
    made.put(replace(two, created=made.now))
    made.settle(most=20)

    assert made.running() == ["ns/a1"]


@pytest.mark.parametrize(("compat", "left"), [(False, ["ns/a1", "ns/d0"]), (True, None)])
def test_a_workload_of_several_pod_sets_gets_the_flavors_it_preempted(compat: bool, left: list[str] | None) -> None:
    """Else its first pod set takes the quota freed for the second one, and the victim is preempted again and again."""
    made = Cluster(Options(compat=compat))
    policy = PreemptionPolicy(reclaim_within_cohort=ANY)
    quota = {FLAVORS[0]: Terms(4), FLAVORS[1]: Terms(2)}
    made.put_queue(queue_settings("a", "team", quota, preemption=policy))
    made.put_queue(queue_settings("d", "team", {FLAVORS[0]: Terms(6)}, preemption=policy))
    running(made, asks("d0", "d", 6), asks("d1", "d", 3))

    two = workload(pod_set("p0", gpu="2"), pod_set("p1", gpu="3"), spec={"queueName": "a"}, name="a1", uid="a1")
    made.put(replace(two, created=made.now))
    if left is None:
        with pytest.raises(AssertionError):
            made.settle(most=20)
    else:
        made.settle(most=20)
        assert made.running() == left


@pytest.mark.parametrize(("priority", "left"), [(0, "ns/b1"), (5, "ns/b1"), (-1, "ns/a1")])
def test_a_preemptor_that_borrows_another_flavor_and_its_victim_do_not_take_turns(priority: int, left: str) -> None:
    """Once its victim has stopped it counts as borrowing, and loses to a victim of the same or a higher priority."""
    made = Cluster()
    made.put_cohort(CohortSettings("team", None, {PAIRS[0]: Terms(1), PAIRS[1]: Terms(0)}))
    policy = PreemptionPolicy(reclaim_within_cohort=ANY)
    wary = Fungibility(TRY_NEXT_FLAVOR, MAY_STOP_SEARCH)
    quota = {FLAVORS[0]: Terms(0), FLAVORS[1]: Terms(3)}
    made.put_queue(queue_settings("a", "team", quota, preemption=policy, fungibility=wary))
    made.put_queue(queue_settings("b", "team", {FLAVORS[1]: Terms(0)}, preemption=policy))
    running(made, asks("b1", "b", 3, priority=priority))

    two = workload(pod_set("p0", gpu="3"), pod_set("p1", gpu="1"), spec={"queueName": "a"}, name="a1", uid="a1")
    made.put(replace(two, created=made.now))
    made.settle(most=20)

    assert made.running() == [left]
