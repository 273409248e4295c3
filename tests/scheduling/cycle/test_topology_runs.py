"""Whole runs with topologies: no node is over its capacity, and no workload waits that fits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms
from scheduling.objects.queue_settings import ANY, LOWER_PRIORITY, PreemptionPolicy
from scheduling.objects.workload import Workload
from scheduling.quota.state import Options
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.fleet import Fleet
from scheduling.topology.workload_places import FlavoredPods, TopologyQuestion, find_places
from scheduling.world.decisions import Wait
from scheduling.world.world import World
from tests.profiles import seeds, seeds_of_long_runs
from tests.scheduling.cluster import PAIRS, RESOURCE, Cluster, queue_settings
from tests.scheduling.cycle.topology_cluster import FLAVOR, LEVELS, TopologyCluster, asks, gpu_node, hosts
from tests.scheduling.manifests import pod_set, workload
from tests.scheduling.queues.listed import set_aside, tried


def made(lends: bool = False, together: bool = False, **quota: int) -> TopologyCluster:
    """Queues of one cohort with this much quota. They preempt what is lower, or reclaim what they lent.

    With both at once work can preempt work in turns, which has nothing to do with topologies.
    """
    cluster = TopologyCluster(Options(recompute_on_overlap=True, preemptors_first=True, replace_together=together))
    policy = PreemptionPolicy(reclaim_within_cohort=ANY) if lends else PreemptionPolicy(LOWER_PRIORITY)
    for name, nominal in quota.items():
        terms = Terms(nominal, borrowing=None if lends else 0)
        cluster.put_queue(queue_settings(name, "all", {FLAVOR: terms}, preemption=policy))
    return cluster


def running(cluster: Cluster) -> dict[str, dict[str, int]]:
    held = {
        key: each for key, each in cluster.workloads.items() if each.reserved and not each.evicted and not each.finished
    }
    return {each.name: dict(hosts(each)) for each in held.values()}


def test_a_pod_outside_topologies_wakes_pending_workloads_only_when_it_is_resized() -> None:
    """The status of a Pod changes often, and each wake-up tries all workloads of the tree again."""
    cluster = made(a=8)
    cluster.put_node(gpu_node("n1", 4))
    cluster.world.put_pod("ns/agent", "n1", {RESOURCE: 2})
    cluster.put(asks("ring", "a", 3, required="rack"))
    cluster.settle()
    pending = cluster.world.queues.pending["a"]

    cluster.world.put_pod("ns/agent", "n1", {RESOURCE: 2})
    cluster.world.wake_for_room()
    cluster.world.queues.flush(cluster.now)
    assert not pending.is_active("ns/ring")

    cluster.world.put_pod("ns/agent", "n1", {RESOURCE: 1})
    cluster.settle()
    assert running(cluster) == {"ring": {"n1": 3}}


def test_a_workload_that_fits_the_quota_and_not_the_topology_waits() -> None:
    cluster = made(a=8)
    for node in (gpu_node("n1", 2), gpu_node("n2", 2, rack="r2")):
        cluster.put_node(node)
    cluster.put(asks("large", "a", 3, required="rack"))
    cluster.put(asks("small", "a", 2, required="rack"))
    cluster.settle()

    assert running(cluster) == {"small": {"n1": 2}}
    attempt = cluster.world.last_attempt("ns/large")
    assert attempt is not None
    assert attempt.message == (
        'couldn\'t assign flavors to pod set main: topology "default" allows to fit only 2 out of 3 pod(s)'
    )


def test_a_new_node_lets_a_workload_start_that_waited_for_its_rack() -> None:
    cluster = made(a=8)
    cluster.put_node(gpu_node("n1", 2))
    cluster.put(asks("large", "a", 3, required="rack"))
    cluster.settle()
    before = running(cluster)
    cluster.put_node(gpu_node("n2", 1))
    cluster.settle()

    assert (before, running(cluster)) == ({}, {"large": {"n1": 2, "n2": 1}})


def test_a_workload_of_lower_priority_is_preempted_for_a_whole_node() -> None:
    cluster = made(a=8)
    for node in (gpu_node("n1", 2), gpu_node("n2", 2, rack="r2")):
        cluster.put_node(node)
    cluster.put(asks("low-1", "a", 1, required=HOSTNAME))
    cluster.put(asks("low-2", "a", 2, required=HOSTNAME))
    cluster.settle()
    cluster.put(asks("high", "a", 2, priority=1, required=HOSTNAME))
    cluster.settle()

    assert "high" in running(cluster)
    assert len(running(cluster)) == 2


def test_a_head_that_loses_its_places_gets_the_remaining_ones_in_the_same_cycle() -> None:
    cluster = made(a=8, b=8)
    for node in (gpu_node("n1", 1), gpu_node("n2", 3)):
        cluster.put_node(node)
    fewer = {**pod_set(count=5, gpu="1"), "minCount": 1, "topologyRequest": {"unconstrained": True}}
    cluster.put(workload(fewer, spec={"queueName": "a", "priority": 0}, name="small", uid="small"))
    cluster.put(asks("large", "b", 3, priority=1, required=HOSTNAME))
    cluster.step()

    assert running(cluster) == {"large": {"n2": 3}, "small": {"n1": 1}}


def test_a_failed_node_is_replaced_in_its_rack_or_the_workload_is_evicted() -> None:
    cluster = made(a=8)
    for node in (*(gpu_node(name, 1) for name in ("n1", "n2", "n3")), gpu_node("n4", 4, rack="r2")):
        cluster.put_node(node)
    cluster.put(asks("ring", "a", 2, required="rack"))
    cluster.settle()
    before = running(cluster)
    cluster.fail_node("n1")
    cluster.second_passes()
    after = running(cluster)
    cluster.fail_node("n2")
    cluster.second_passes()

    assert (before, after) == ({"ring": {"n1": 1, "n2": 1}}, {"ring": {"n2": 1, "n3": 1}})
    assert cluster.workloads["ns/ring"].evicted
    cluster.settle()
    assert running(cluster) == {"ring": {"n4": 2}}


def test_without_the_topology_the_queue_is_inactive() -> None:
    cluster = made(a=8)
    cluster.world.drop_topology("default")

    found = cluster.world.can_admit("a")

    assert (found.active, found.reason) == (False, "TopologyNotFound")
    assert 'there is no Topology "default" for TAS flavor "on-demand"' in found.message


def _request(random: Random) -> dict[str, Any]:
    level = random.choice(LEVELS)
    slices = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    return random.choice(({"required": level}, {"preferred": level}, {"unconstrained": True}, slices))


def _act(cluster: TopologyCluster, random: Random, turn: int) -> None:
    held = list(running(cluster))
    choice = random.random()
    if choice < 0.5:
        count = random.choice((1, 2, 4))
        made_one = asks(f"w{turn}", random.choice("ab"), count, random.randint(0, 2), **_request(random))
        cluster.put(made_one)
    elif choice < 0.7 and held:
        cluster.finish(f"ns/{random.choice(held)}")
    elif choice < 0.8 and len(cluster.nodes) > 3 and cluster.workloads:
        busy = max((hosts(each).keys() & cluster.nodes.keys() for each in cluster.workloads.values()), key=len)
        several = sorted(busy)[:2] if cluster.options.replace_together and len(busy) > 1 else []
        for name in several or [random.choice(list(cluster.nodes))]:
            cluster.fail_node(name)
    else:
        name = f"n{random.randint(0, 9)}"
        before = cluster.nodes[name].allocatable[RESOURCE] if name in cluster.nodes else 0
        cluster.put_node(
            gpu_node(name, max(before, random.randint(2, 4)), f"b{int(name[1]) % 2}", f"r{int(name[1]) % 3}")
        )


@pytest.mark.parametrize("seed", seeds(2))
def test_in_random_runs_all_workloads_are_placed_and_none_waits_that_fits(seed: int) -> None:
    random = Random(seed)
    cluster = made(lends=seed % 2 == 0, together=seed % 4 < 2, a=8, b=6)
    for number in range(6):
        cluster.put_node(gpu_node(f"n{number}", random.randint(1, 4), f"b{number % 2}", f"r{number % 3}"))
    for turn in range(25):
        _act(cluster, random, turn)
        cluster.second_passes()
        cluster.settle()
        _check(cluster)


@pytest.mark.parametrize("seed", seeds_of_long_runs(4))
def test_pods_on_failed_nodes_are_listed_whatever_flavors_the_queue_gets_and_loses(seed: int) -> None:
    random = Random(seed)
    cluster = made(together=seed % 2 == 0)
    cluster.world.put_flavor(Flavor("spot", {}, topology="default"))
    cluster.world.put_flavor(Flavor("plain", {}))
    for number in range(6):
        cluster.put_node(gpu_node(f"n{number}", 3, rack=f"r{number % 2}"))
    for turn in range(12):
        flavors = random.sample([FLAVOR, "spot", "plain"], random.randint(1, 3))
        cluster.put_queue(queue_settings("a", "all", {flavor: Terms(3) for flavor in flavors}))
        pod_sets = (pod_set(f"set-{number}", random.randint(1, 3), gpu="1") for number in range(2))
        asked = [{**each, "topologyRequest": random.choice(({"required": "rack"}, {}))} for each in pod_sets]
        cluster.put(workload(*asked, spec={"queueName": "a"}, name=f"w{turn}", uid=f"w{turn}"))
        cluster.settle()
        cluster.fail_node(random.choice([*cluster.nodes]))
        cluster.put_node(gpu_node(f"n{6 + turn}", 3, rack=f"r{turn % 2}"))
        cluster.second_passes()
        for each in cluster.workloads.values():
            if each.admitted and not each.evicted:
                assert hosts(each).keys() - cluster.nodes.keys() <= {*each.unhealthy_nodes}


def _check(cluster: TopologyCluster) -> None:
    used: Counter[str] = Counter()
    for each in cluster.workloads.values():
        if each.reserved and not each.finished:
            used.update(hosts(each))
            assert sum(hosts(each).values()) == each.pod_sets[0].count
            assert _is_as_asked(each)
    for name, node in cluster.nodes.items():
        assert used[name] <= node.allocatable[RESOURCE]
    fresh = cluster.fresh()
    mine, theirs = cluster.world.state.fleet, fresh.state.fleet
    assert mine is not None
    assert theirs is not None
    assert {d.id: d.remain for d in mine.flavors[FLAVOR].tree.lowest()} == {
        d.id: d.remain for d in theirs.flavors[FLAVOR].tree.lowest()
    }
    for name, pending in cluster.world.queues.pending.items():
        for entry in [*tried(pending), *set_aside(pending)]:
            assert not _fits(cluster.world, name, entry.workload), entry.key


def _is_as_asked(each: Workload) -> bool:
    """Whether its pods are in one domain of the level that it requires, and its slices whole in their racks."""
    request, places = each.pod_sets[0].topology or {}, hosts(each)
    racks: Counter[tuple[int, int]] = Counter()
    for name, pods in places.items():
        racks[int(name[1]) % 2, int(name[1]) % 3] += pods
    domains = {"block": {block for block, _ in racks}, "rack": {*racks}, HOSTNAME: {*places}}
    whole = "podSetSliceSize" not in request or not any(pods % 2 for pods in racks.values())
    return whole and ("required" not in request or len(domains[request["required"]]) == 1)


def _fits(world: World, queue: str, each: Workload) -> bool:
    """Whether both quota and places are free for it."""
    (only,), state = each.pod_sets, world.state
    assert state.fleet is not None
    question = TopologyQuestion(each, [FLAVOR], all_pods=True)
    places = find_places(state.fleet, question, [FlavoredPods(only.name, only.count, {RESOURCE: FLAVOR})])
    return places.complete and state.queues[queue].node.free(PAIRS[0]) >= only.count


def test_running_work_counts_on_its_nodes_in_any_order_of_watch_events() -> None:
    """The watch of Workloads may be ahead of the watch of flavors, and a queue may be deleted and created again."""
    cluster = made(a=4)
    cluster.put_node(gpu_node("n1", 2))
    cluster.put(asks("first", "a", 2, required="rack"))
    cluster.settle()
    late = World(cluster.options, fleet=Fleet())
    late.put_namespace("ns", {})
    for queue in cluster.queues.values():
        late.put_queue(queue, cluster.now)
    late.put_node(gpu_node("n1", 2))
    for each in cluster.workloads.values():
        late.put_workload(each, cluster.now)
    late.put_topology("default", LEVELS)
    late.put_flavor(Flavor(FLAVOR, {}, topology="default"))
    assert room(late) == 0

    late.drop_queue("a", cluster.now)
    assert room(late) == 2
    late.put_queue(cluster.queues["a"], cluster.now)
    assert room(late) == 0


def room(world: World) -> int:
    """What is left of the node n1."""
    assert world.state.fleet is not None
    domain = world.state.fleet.flavors[FLAVOR].tree.find(("n1",))
    assert domain is not None
    return domain.remain.get(RESOURCE, 0)


def contended(quota: int) -> TopologyCluster:
    """`first` in the queue `a` has all of the node n1, which `second` in a queue of another cohort needs."""
    cluster = made(a=quota)
    cluster.put_queue(queue_settings("b", "other", {FLAVOR: Terms(2)}))
    cluster.put_node(gpu_node("n1", 2))
    cluster.put(asks("first", "a", 2, required="rack"))
    cluster.settle()
    cluster.put(asks("second", "b", 2, required="rack"))
    cluster.settle()
    return cluster


def test_a_workload_starts_when_one_of_another_cohort_leaves_its_nodes() -> None:
    cluster = contended(2)
    before = running(cluster)
    cluster.drop("ns/first")
    cluster.settle()

    assert (before, running(cluster)) == ({"first": {"n1": 2}}, {"second": {"n1": 2}})


@pytest.mark.parametrize(("done", "others"), [(1, {}), (2, {"second": {"n1": 2}})])
def test_a_pod_set_whose_pods_are_all_done_frees_its_nodes(done: int, others: dict[str, Any]) -> None:
    cluster = contended(4)
    cluster.put(replace(cluster.workloads["ns/first"], reclaimable={"main": done}))
    cluster.settle()

    assert running(cluster) == {"first": {"n1": 2}, **others}


def test_a_pod_outside_topologies_that_starts_wakes_no_workload() -> None:
    cluster = made(a=4)
    cluster.put_node(gpu_node("n1", 1))
    cluster.put(asks("large", "a", 2, required="rack"))
    cluster.settle()
    world = cluster.world
    world.put_pod("ns/daemon", "n1", {"cpu": 100})
    assert world.queues.heads(world.is_ready) == []
    world.put_pod("ns/daemon", "n1", {"cpu": 50})
    world.wake_for_room()
    world.queues.flush(cluster.now)
    assert [entry.key for _, entry in world.queues.heads(world.is_ready)] == ["ns/large"]


def _waits(*pod_sets: dict[str, Any]) -> tuple[str, str]:
    """The reason and the message of a workload on one node with one GPU."""
    made = TopologyCluster(nodes={"n1": gpu_node("n1", 1)})
    made.put_queue(queue_settings("a", None, {FLAVOR: Terms(9)}))
    made.put(workload(*pod_sets, spec={"queueName": "a"}, name="w", uid="w"))
    (decision,) = made.step()
    assert isinstance(decision, Wait)
    return decision.reason, decision.message


def test_the_message_of_a_group_without_places_names_its_first_pod_set() -> None:
    asked = {"required": "block", "podSetGroupName": "g"}
    group = [{**pod_set(name, count=count, gpu="1"), "topologyRequest": asked} for name, count in (("a", 1), ("b", 3))]

    reason, message = _waits(*group)

    assert reason == "TopologyPlacementFailed"
    assert message == 'couldn\'t assign flavors to pod set a: topology "default" allows to fit only 1 out of 3 pod(s)'


def test_an_error_of_one_pod_set_is_the_whole_message() -> None:
    asked = {"topologyRequest": {"required": "block"}}
    first, second = ({**pod_set(name), **asked} for name in "ab")

    assert _waits(first, second) == (
        "NoMatchingFlavor",
        "failed to assign flavors to pod set a: no TAS flavor assigned",
    )
