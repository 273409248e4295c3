"""Placements that Kueue's test tables do not have: requests of Workloads written by users, and the order."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.taints import Taint, Toleration
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, TopologyAssignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import NodeFilter
from scheduling.topology.placing import PlacedPods, TopologyGates
from tests.scheduling.topology.drawn import (
    BLOCK,
    FLAVOR,
    LEVELS,
    RACK,
    assigned,
    drawn,
    fleet,
    node,
    nodes,
    place,
    pods,
)


def test_the_smallest_rack_with_room_for_all_pods_is_used() -> None:
    assert place(fleet(), pods(3, required=RACK)) == {"main": "n6=1 n7=2"}


def test_fewer_pods_than_one_slice_are_neither_placed_nor_refused() -> None:
    assert place(fleet(), pods(1, required=BLOCK, slices=[(RACK, 2)])) == {"main": ""}


def test_balanced_placement_of_fewer_pods_than_one_slice_does_not_fail() -> None:
    """Kueue divides by zero there."""
    made = fleet(gates=TopologyGates(balanced=True))

    assert place(made, pods(1, preferred=BLOCK, slices=[(RACK, 2)])) == {"main": ""}


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({}, "topology level not specified"),
        ({"required": "shelf"}, "no requested topology level: shelf"),
        ({"slices": [("shelf", 2)]}, "no requested topology level for slices: shelf"),
        ({"required": RACK, "slices": [(BLOCK, 2)]}, "podset slice topology block is above the podset topology rack"),
        ({"slices": [(RACK, 0)]}, "slice topology requested, but slice size not provided"),
        ({"required": "shelf", "slices": [(RACK, 0)]}, "slice topology requested, but slice size not provided"),
        ({"slices": [("shelf", 0)]}, "slice topology requested, but slice size not provided"),
        ({"slices": [(RACK, -1)]}, "slice topology requested, but slice size not provided"),
        (
            {"slices": [(RACK, 4), (HOSTNAME, 0)]},
            "additional slice layer size 0 must evenly divide parent layer size 4",
        ),
    ],
)
def test_an_invalid_topology_request_is_refused(request_: dict[str, object], reason: str) -> None:
    assert place(fleet(), pods(2, **request_)) == {"main": reason}


def test_a_request_for_a_level_and_any_domain_uses_the_level() -> None:
    """Kueue's webhook accepts it: the level counts, with the profile of unconstrained pods."""
    assert place(fleet(), pods(3, required=RACK, anywhere=True)) == {"main": "n6=1 n7=2"}
    assert place(fleet(), pods(7, preferred=RACK, anywhere=True)) == {"main": "n1=3 n2=1 n6=1 n7=2"}
    assert place(fleet(), pods(5, required=RACK, anywhere=True)) == {
        "main": 'topology "default" allows to fit only 4 out of 5 pod(s)'
    }
    balanced = fleet("b1/r1 n1=10; b1/r2 n2=10", gates=TopologyGates(balanced=True))
    assert place(balanced, pods(12, preferred=RACK)) == {"main": "n1=6 n2=6"}
    assert place(balanced, pods(12, preferred=RACK, anywhere=True)) == {"main": "n1=10 n2=2"}


def test_balanced_placement_compares_room_that_is_not_rounded_to_the_layers() -> None:
    """Kueue does not round it either. Rounded, both racks hold 2, 4 or 6 pods, and the first one is chosen."""
    made = fleet("b1/r1 n1=7; b1/r2 n2=6", gates=TopologyGates(balanced=True))

    assert place(made, pods(4, preferred=BLOCK, slices=[(RACK, 4), (HOSTNAME, 2)])) == {"main": "n2=4"}


def test_balanced_placement_that_leaves_pods_without_a_place_is_not_used() -> None:
    """Kueue gives all eight pods to the first rack, where pairs have room for six, and stores no place at all."""
    made = fleet("b1/r1 n1=3 n2=5; b1/r2 n3=4; b2/r3 n4=5", gates=TopologyGates(balanced=True))

    assert place(made, pods(8, preferred=BLOCK, slices=[(RACK, 4), (HOSTNAME, 2)])) == {"main": "n1=2 n2=2 n3=4"}


def test_an_invalid_pod_set_group_is_refused() -> None:
    three = [pods(1, name, required=RACK, group="g") for name in "abc"]
    twos = [pods(2, name, required=RACK, group="g") for name in "ab"]

    assert set(place(fleet(), *three).values()) == {"can only define groups of exactly 2 pod sets, got: 3 pod set(s)"}
    assert set(place(fleet(), *twos).values()) == {
        (
            "can only define groups where at least one pod set has only 1 replica, "
            "got: 2 replica(s) and 2 replica(s) in the group"
        )
    }


def test_a_topology_without_nodes_has_no_domains() -> None:
    made = Fleet()
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)

    assert place(made, pods(1, required=RACK)) == {"main": "no topology domains at level: rack"}


def test_usage_of_earlier_pod_sets_counts_also_in_an_empty_cluster() -> None:
    made = fleet("b1/r1 n1=2")
    made.hold(FLAVOR, made.flavors[FLAVOR].place([pods(2, required=RACK)], {}).assigned["main"], {"cpu": 1000})
    first, second = pods(1, "first", required=RACK), pods(2, "second", required=RACK)

    found = place(made, first, second, empty=True)

    assert found["first"] == "n1=1"
    assert found["second"].startswith('topology "default" allows to fit only 1 out of 2 pod(s)')


def test_a_refused_pod_set_ends_the_search_in_its_flavor() -> None:
    found = place(fleet(), pods(99, "large", required=RACK), pods(1, "small", required=RACK))

    assert list(found) == ["large"]


def test_each_excluded_node_is_counted_once_with_its_reason() -> None:
    made = fleet("b1/r1 n1=1")
    made.put_node(node("n2", 1, taints=(Taint("gpu", "true", "NoSchedule"),)))
    made.put_node(node("n3", 1, taints=(Taint("gpu", "", "PreferNoSchedule"),)))
    made.put_node(node("n4", 0))
    made.put_node(node("n5", 1, labels={"zone": "b"}))
    asked = NodeFilter(selector=(("zone", "a"),))
    for name in ("n1", "n3", "n4"):
        made.put_node(node(name, 0 if name == "n4" else 1, labels={"zone": "a"}))

    found = made.flavors[FLAVOR].place(
        [PlacedPods("main", 4, {"cpu": 1000}, pods(4, required=RACK).request, asked)], {}
    )

    assert found.refused["main"] == (
        'topology "default" allows to fit only 2 out of 4 pod(s). Total nodes: 5; '
        'excluded: nodeSelector: 1, resource "cpu": 1, taint "gpu=true:NoSchedule": 1'
    )


def test_a_toleration_lets_pods_onto_a_tainted_node() -> None:
    made = fleet("b1/r1 n1=1")
    made.put_node(node("n2", 4, taints=(Taint("gpu", "true", "NoSchedule"),)))
    asked = pods(4, required=RACK)
    tolerating = PlacedPods(
        "main", 4, asked.requests, asked.request, NodeFilter(tolerations=(Toleration("gpu", "Exists"),))
    )

    assert place(made, tolerating) == {"main": "n2=4"}


def test_the_order_of_events_does_not_matter() -> None:
    asked = (pods(5, "a", anywhere=True), pods(4, "b", preferred=RACK), pods(3, "c", required=BLOCK))
    expected = place(fleet(), *asked)
    for seed in range(20):
        order = nodes()
        Random(seed).shuffle(order)
        made = Fleet()
        for each in order[:3]:
            made.put_node(each)
        made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
        for each in order[3:]:
            made.put_node(each)

        assert place(made, *asked) == expected


def _grown(count: int, previous: str, held: bool = True) -> str:
    made = fleet("b1/r1 n1=2 n2=1 n3=4")
    if held:
        made.hold(FLAVOR, assigned(previous), {"cpu": 1000})
    one = replace(pods(count, anywhere=True), previous=assigned(previous))
    return drawn(made.flavors[FLAVOR].place([one], {}, previous_counts=held).assigned["main"])


@pytest.mark.parametrize("held", [True, False])
def test_a_replacement_slice_keeps_its_places_and_gets_more(held: bool) -> None:
    assert _grown(2, "n1=2", held) == "n1=2"
    assert _grown(3, "n1=2", held) == "n1=2 n2=1"
    assert _grown(5, "n1=1 n3=1", held) == "n1=1 n3=4"
    assert _grown(1, "n1=1 n3=1", held) == "n1=1"


def test_a_slice_with_a_deleted_node_gets_new_places() -> None:
    assert _grown(2, "n9=2") == "n1=2"


def test_a_slice_with_a_deleted_rack_gets_new_places_also_in_an_unnamed_block() -> None:
    made = fleet("b1/r1 n1=3", levels=(BLOCK, RACK))
    made.put_node(node("n1", 3, block=""))
    before = TopologyAssignment((BLOCK, RACK), (AssignedDomain(("", "r2"), 2),))

    assert place(made, replace(pods(3, anywhere=True), previous=before)) == {"main": ",r1=3"}


def test_a_leader_keeps_its_place_when_workers_are_added() -> None:
    made = fleet("b1/r1 n1=2 n2=1 n3=2")
    leader = replace(pods(1, "leader", anywhere=True, group="g"), previous=assigned("n2=1"))
    workers = replace(pods(4, "workers", anywhere=True, group="g"), previous=assigned("n1=2"))

    assert place(made, leader, workers) == {"leader": "n2=1", "workers": "n1=2 n3=2"}
