"""The last slice may be short: examples, and a comparison with all placements on small clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from scheduling.topology.assignment import HOSTNAME, AssignedDomain, TopologyAssignment
from scheduling.topology.placing import PlacedPods, TopologyGates
from scheduling.topology.replacing import replaced
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import (
    BLOCK,
    FLAVOR,
    LEVELS,
    RACK,
    assigned,
    below,
    cluster,
    drawn,
    fitting,
    fleet,
    free,
    hosts,
    node,
    place,
    pods,
)

SHORT = TopologyGates(short_slices=True)
_FULL = 12
"""Seeds for each example of the profile."""


def placed(count: int, tree: str | None = None, gates: TopologyGates = SHORT, **request: Any) -> str:
    made = fleet(tree, gates=gates) if tree else fleet(gates=gates)
    return place(made, pods(count, **request))["main"]


@pytest.mark.parametrize(
    ("count", "request_", "expected"),
    [
        (5, {"required": BLOCK}, "n5=4 n6=1"),
        (1, {"required": BLOCK}, "n6=1"),
        (7, {"required": BLOCK}, "n5=4 n6=1 n7=2"),
        (5, {}, "n5=2 n6=1 n7=2"),
        (15, {}, "n1=3 n2=1 n3=2 n4=2 n5=4 n6=1 n7=2"),
        (9, {"preferred": RACK}, "n1=3 n2=1 n3=2 n4=2 n5=1"),
    ],
)
def test_the_last_slice_has_the_remaining_pods(count: int, request_: dict[str, Any], expected: str) -> None:
    assert placed(count, slices=[(RACK, 2)], **request_) == expected


def test_the_short_slice_shares_a_domain_if_there_is_room() -> None:
    tree = "b1/r1 n1=1; b1/r2 n2=5; b1/r3 n3=1"

    assert placed(5, tree, required=BLOCK, slices=[(RACK, 2)]) == "n2=5"
    assert placed(5, "b1/r1 n1=1; b1/r2 n2=4; b1/r3 n3=1", required=BLOCK, slices=[(RACK, 2)]) == "n2=4 n1=1"


def test_the_short_slice_is_listed_last_although_its_rack_is_the_first() -> None:
    """Pods are assigned to domains in the order of their rank, and the last pods are those of the short slice."""
    tree = "b1/r1 n1=1 n2=1; b1/r2 n3=2 n4=2"

    assert placed(5, tree, required=BLOCK, slices=[(RACK, 3)]) == "n3=2 n4=1 n1=1 n2=1"


def test_a_short_slice_without_a_domain_is_refused_as_a_slice() -> None:
    made = fleet("b1/r1 n1=2; b1/r2 n2=2", gates=SHORT)
    asked = pods(5, required=BLOCK, slices=[(RACK, 2)])

    assert place(made, asked)["main"] == 'topology "default" allows to fit only 2 out of 3 slice(s)'
    short = made.flavors[FLAVOR].shortage([asked], {})
    assert short is not None
    assert (short.values, short.room, short.needed, short.unit) == (("b1",), 2, 3, "slice")


def test_fewer_pods_than_a_slice_need_one_domain() -> None:
    made = fleet("b1/r1 n1=2; b1/r2 n2=1 n3=1", gates=SHORT)
    asked = pods(3, required=BLOCK, slices=[(RACK, 4)])

    assert place(made, asked)["main"] == 'topology "default" doesn\'t allow to fit any of 1 slice(s)'
    short = made.flavors[FLAVOR].shortage([asked], {})
    assert short is not None
    assert (short.values, short.room, short.needed, short.unit, short.of_slice) == (("b1", "r1"), 2, 3, "pod", True)
    assert place(made, pods(2, required=BLOCK, slices=[(RACK, 4)]))["main"] == "n1=2"


def test_without_the_gate_the_remaining_pods_are_not_placed() -> None:
    assert placed(5, gates=TopologyGates(), required=BLOCK, slices=[(RACK, 2)]) == "n5=4"


def test_nested_slices_must_be_whole() -> None:
    assert placed(6, required=BLOCK, slices=[(RACK, 4), (HOSTNAME, 2)]) == "n3=2 n4=2"


def test_a_preferred_level_with_a_short_slice_is_not_balanced() -> None:
    """As in Kueue: balanced placement supports only whole slices."""
    balanced = TopologyGates(balanced=True, short_slices=True)
    tree = "b1/r1 n1=10; b1/r2 n2=10"
    asked: dict[str, Any] = {"preferred": RACK, "slices": [(HOSTNAME, 2)]}

    assert placed(12, tree, balanced, **asked) == "n1=6 n2=6"
    assert placed(13, tree, balanced, **asked) == "n1=10 n2=3"


# -- compared with all that could be tried -----------------------------------------------------------------------------


def _possible(rooms: dict[str, int], domains: Iterable[list[str]], size: int, count: int) -> bool:
    """Whether the slice domains, each a list of hosts, hold the whole slices and the short one."""
    sums = [sum(rooms[host] for host in members) for members in domains]
    whole, short = divmod(count, size)
    if not short:
        return sum(room // size for room in sums) >= whole
    total = sum(room // size for room in sums)
    return any(room >= short and total - room // size + (room - short) // size >= whole for room in sums)


def _drawn(random: Random) -> tuple[str, str, int, int]:
    """The level asked for, that of slices, their size, and the number of pods."""
    level = random.choice(LEVELS)
    return level, random.choice(LEVELS[LEVELS.index(level) :]), random.randint(2, 4), random.randint(1, 14)


def _check(made: Any, taken: TopologyAssignment, room: dict[str, int], level: str, size: int, count: int) -> None:
    """All pods have a place, nothing is over its room, and the slices lie one after the other in whole domains."""
    found = hosts(taken)
    assert sum(found.values()) == count
    assert all(found[host] <= room[host] for host in found)
    depth = LEVELS.index(level) + 1
    path = {each.name: tuple(each.labels[key] for key in LEVELS)[:depth] for each in made.nodes.values()}
    ranked = [path[host] for (host,), pods_there in taken.domains for _ in range(pods_there)]
    for start in range(0, count, size):
        assert len(set(ranked[start : start + size])) == 1


@each_seed(_FULL)
@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("how", ["required", "preferred", "slices"])
def test_slices_are_refused_only_if_there_is_no_room_for_them(how: str, mixed: bool, seed: int) -> None:
    random = Random(seed)
    made = cluster(random, TopologyGates(mixed=mixed, short_slices=True))
    level, of_slices, size, count = _drawn(random)
    room = {host: fitting(rest, 1) for host, rest in free(made).items()}
    request = {} if how == "slices" else {how: level}
    asked = pods(count, slices=[(of_slices, size)], **request)

    found = made.flavors[FLAVOR].place([asked], {})

    slice_domains = below(made, of_slices)
    tops = below(made, level).keys() if how == "required" else [()]
    possible = any(
        _possible(room, [slice_domains[path] for path in slice_domains if path[: len(top)] == top], size, count)
        for top in tops
    )
    assert possible is not bool(found.refused), found.refused
    assert (made.flavors[FLAVOR].shortage([asked], {}) is None) is possible
    if possible:
        _check(made, found.assigned["main"], room, of_slices, size, count)


@each_seed(_FULL)
@pytest.mark.parametrize("how", ["required", "preferred"])
def test_a_leader_and_its_slices_are_refused_only_if_no_domain_has_room(how: str, seed: int) -> None:
    random = Random(seed)
    made = cluster(random, SHORT)
    level, of_slices, size, count = _drawn(random)
    count = max(2, count)
    of_leader = random.randint(1, 3)
    asked = [
        pods(1, "leader", of_leader, group="g", **{how: level}),
        pods(count, "workers", group="g", slices=[(of_slices, size)], **{how: level}),
    ]

    found = made.flavors[FLAVOR].place(asked, {})

    rest = free(made)
    slice_domains = below(made, of_slices)
    possible = False
    for top, members in below(made, level).items() if how == "required" else [((), list(rest))]:
        inside = [slice_domains[path] for path in slice_domains if path[: len(top)] == top]
        for host in members:
            beside = fitting(rest[host], 1, of_leader)
            if beside >= 0:
                rooms = {each: fitting(rest[each], 1) for each in members} | {host: beside}
                possible = possible or _possible(rooms, inside, size, count)
    assert possible is not bool(found.refused), found.refused
    if possible:
        (leader,) = hosts(found.assigned["leader"])
        rooms = {host: fitting(rest[host], 1, of_leader if host == leader else 0) for host in rest}
        _check(made, found.assigned["workers"], rooms, of_slices, size, count)


# -- later -------------------------------------------------------------------------------------------------------------


@each_seed(_FULL)
def test_slices_stay_whole_after_a_node_is_replaced(seed: int) -> None:
    random = Random(seed)
    made = cluster(random, SHORT)
    of_slices, size, count = random.choice(LEVELS), random.randint(2, 4), random.randint(1, 10)
    asked = pods(count, preferred=BLOCK, slices=[(of_slices, size)])
    flavor = made.flavors[FLAVOR]
    present = flavor.place([asked], {}).assigned.get("main")
    if present is None:
        return
    made.hold(FLAVOR, present, asked.requests)
    failed = random.choice(present.domains).values[0]
    node_, room = made.nodes[failed], free(made)
    made.drop_node(failed)

    found = replaced(flavor, asked, present, failed, {})

    if not isinstance(found, str):
        kept = {host: count_ for host, count_ in hosts(present).items() if host != failed}
        rooms = {host: fitting(rest, 1) + kept.get(host, 0) for host, rest in room.items() if host != failed}
        made.put_node(node_)
        _check(made, found, rooms, of_slices, size, count)
        assert all(hosts(found)[host] >= pods_there for host, pods_there in kept.items())


def test_a_short_slice_that_lost_its_only_node_moves_as_a_whole() -> None:
    made = fleet("b1/r1 n1=2; b1/r2 n2=1; b1/r3 n3=2", gates=SHORT)
    asked = pods(3, required=BLOCK, slices=[(RACK, 2)])
    present = assigned("n1=2 n2=1")
    made.hold(FLAVOR, present, asked.requests)
    made.drop_node("n2")

    found = replaced(made.flavors[FLAVOR], asked, present, "n2", {})

    assert isinstance(found, TopologyAssignment)
    assert drawn(found) == "n1=2 n3=1"


@pytest.mark.parametrize("layers", [[(RACK, 2)], [(RACK, 2), (HOSTNAME, 1)]])
def test_a_node_is_not_replaced_if_slices_are_split_already(layers: list[tuple[str, int]]) -> None:
    made = fleet("b1/r1 n1=1; b1/r2 n2=1; b1/r3 n3=2; b1/r4 n4=2", gates=SHORT)
    asked, present = pods(4, required=BLOCK, slices=layers), assigned("n1=1 n2=1 n3=2")

    found = replaced(made.flavors[FLAVOR], asked, present, "n3", {})

    assert found == "cannot replace the node n3 without splitting a PodSet slice"


def _grown(count: int, previous: str) -> str:
    made = fleet("b1/r1 n1=2 n2=2; b1/r2 n3=4", gates=SHORT)
    made.hold(FLAVOR, assigned(previous), {"cpu": 1000})
    one: PlacedPods = replace(pods(count, slices=[(RACK, 2)]), previous=assigned(previous))
    return drawn(made.flavors[FLAVOR].place([one], {}, previous_counts=True).assigned["main"])


def test_an_elastic_job_grows_by_whole_slices_or_is_placed_again() -> None:
    assert _grown(4, "n1=2") == "n1=2 n2=2"
    assert _grown(5, "n3=3") == "n1=2 n3=3"
    assert _grown(2, "n3=2 n1=1") == "n3=2"


def test_the_order_of_the_domains_is_stored() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=2 n4=2", gates=SHORT)
    made.put_node(node("n5", 0))
    found = made.flavors[FLAVOR].place([pods(5, required=BLOCK, slices=[(RACK, 3)])], {}).assigned["main"]

    assert found.domains[-2:] == (AssignedDomain(("n1",), 1), AssignedDomain(("n2",), 1))
    assert Counter(hosts(found)) == Counter({"n1": 1, "n2": 1, "n3": 2, "n4": 1})
    assert all(one != other for one, other in pairwise(found.domains))
