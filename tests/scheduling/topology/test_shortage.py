"""The domain without enough room: one is named exactly if the pods cannot be placed."""

from __future__ import annotations

from random import Random
from typing import Any

from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.domains import TopologyTree, Usage
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.placing import FlavorTopology, PlacedPods
from scheduling.topology.request import SliceLayer, TopologyRequest
from scheduling.topology.shortage import ShortDomain
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import LEVELS


def topology(*nodes: tuple[str, str, int]) -> FlavorTopology:
    """Nodes of block, rack and CPUs."""
    tree = TopologyTree(LEVELS, {}, Usage(), Usage())
    for number, (block, rack, cpu) in enumerate(nodes):
        labels = {"block": block, "rack": rack, HOSTNAME: f"h{number}"}
        tree.put(TopologyNode(f"h{number}", labels, (), {"cpu": cpu, "pods": 20}))
    return FlavorTopology("default", tree)


def pods(count: int, cpu: int = 1, **request: Any) -> PlacedPods:
    return PlacedPods("main", count, {"cpu": cpu}, TopologyRequest(**request))


def test_the_largest_domain_is_named_and_the_first_of_equal_ones() -> None:
    racks = topology(("b1", "r1", 2), ("b1", "r2", 3), ("b2", "r1", 3))

    assert racks.shortage([pods(4, required="rack")], {}) == ShortDomain(("b1", "r2"), 3, 4, "pod", False)


def test_a_slice_that_fits_no_domain_is_reported_before_the_number_of_slices() -> None:
    racks = topology(("b1", "r1", 2), ("b1", "r2", 3))
    two, four = (pods(8, required="block", layers=(SliceLayer("rack", size),)) for size in (2, 4))

    assert racks.shortage([two], {}) == ShortDomain(("b1",), 2, 4, "slice", False)
    assert racks.shortage([four], {}) == ShortDomain(("b1", "r2"), 3, 4, "pod", True)


def test_unconstrained_pods_report_the_room_of_all_domains_together() -> None:
    racks = topology(("b1", "r1", 2), ("b2", "r2", 3))

    assert racks.shortage([pods(6, preferred="rack")], {}) == ShortDomain((), 5, 6, "pod", False)
    assert racks.shortage([pods(6, anywhere=True)], {("h0",): {"cpu": 1}}) == ShortDomain((), 4, 6, "pod", False)


def test_a_leader_without_a_place_is_not_reported_as_a_short_domain() -> None:
    racks = topology(("b1", "r1", 2), ("b1", "r1", 2))
    leader = PlacedPods("leader", 1, {"cpu": 3}, TopologyRequest(required="rack", group="g"))

    assert racks.shortage([pods(4, required="rack", group="g"), leader], {}) is None


def test_an_unknown_level_is_not_reported_as_a_short_domain() -> None:
    assert topology(("b1", "r1", 2)).shortage([pods(1, required="row")], {}) is None


@each_seed(3)
def test_a_short_domain_is_reported_if_and_only_if_there_is_no_place(seed: int) -> None:
    random = Random(seed)
    nodes = [
        (f"b{random.randint(1, 2)}", f"r{random.randint(1, 3)}", random.randint(0, 5))
        for _ in range(random.randint(1, 8))
    ]
    racks, level, size = topology(*nodes), random.choice(LEVELS), random.randint(1, 4)
    request = random.choice(({"required": level}, {"preferred": level}, {"anywhere": True}))
    if "anywhere" not in request and random.random() < 0.5:
        request["layers"] = (SliceLayer(random.choice(LEVELS[LEVELS.index(level) :]), size),)
    asked = pods(random.randint(size, 14), random.randint(1, 3), **request)

    short = racks.shortage([asked], {})

    assert isinstance(racks.place_group([asked], {}), str) == (short is not None)
    assert short is None or short.room < short.needed
