"""The pods of several failed nodes move together, if any valid placement exists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from policies.dialects.kueue_flavor import Flavor
from scheduling.topology.assignment import TopologyAssignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.placing import PlacedPods, TopologyGates
from scheduling.topology.replacing_together import LostPods, UncertainPlaces, replaced_together
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import BLOCK, FLAVOR, LEVELS, RACK, assigned, drawn, fleet, node, pods

ONE = {"cpu": 1000}


def moved(made: Fleet, asked: PlacedPods, places: str, *hosts: str) -> str:
    """The places of the pods of `places` once none is on these hosts, or why there are none."""
    found = together(made, [(asked, assigned(places))], hosts)
    return found if isinstance(found, str) else drawn(found[0])


def together(
    made: Fleet, members: list[tuple[PlacedPods, TopologyAssignment]], hosts: tuple[str, ...]
) -> list[TopologyAssignment] | str:
    lost, beside = [], []
    for asked, present in members:
        made.hold(FLAVOR, present, ONE)
        rest = present.without(*hosts)
        if rest == present:
            beside.append(present)
        else:
            lost.append(LostPods(asked, rest, present.pods - rest.pods))
    return replaced_together(made.flavors[FLAVOR], lost, beside, hosts, {})


def test_slices_that_lost_pods_are_completed_in_their_own_racks() -> None:
    """Two pods are as many as a slice, but both in one rack would leave two racks with half a slice."""
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=1 n4=1; b1/r3 n5=2")
    asked = pods(4, required=BLOCK, slices=[(RACK, 2)])

    assert moved(made, asked, "n1=1 n3=1 n8=1 n9=1", "n8", "n9") == "n1=1 n2=1 n3=1 n4=1"


@pytest.mark.parametrize(
    ("tree", "places", "expected"),
    [
        ("b1/r1 n1=2; b1/r2 n3=1; b1/r3 n5=2", "n1=2 n8=1 n9=1 n3=1", "n1=2 n5=2 n3=1"),
        ("b1/r1 n1=1 n2=1; b1/r2 n3=2; b1/r3 n5=2", "n3=2 n1=1 n8=1 n9=1", "n3=2 n5=2 n1=1"),
        ("b1/r1 n1=2; b1/r2 n3=2; b1/r3 n5=2", "n1=2 n3=2 n8=1", "n1=2 n3=2 n5=1"),
    ],
)
def test_only_the_last_slice_is_short_after_a_replacement(tree: str, places: str, expected: str) -> None:
    made = fleet(tree, gates=TopologyGates(short_slices=True))

    assert moved(made, pods(5, required=BLOCK, slices=[(RACK, 2)]), places, "n8", "n9") == expected


def test_lost_whole_slices_move_to_another_rack_and_a_broken_one_is_completed() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=2; b2/r1 n4=2")
    asked = pods(4, required=BLOCK, slices=[(RACK, 2)])

    assert moved(made, asked, "n1=1 n8=1 n9=2", "n8", "n9") == "n1=1 n2=1 n3=2"


def test_nested_slices_are_completed_from_the_innermost() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=2; b2/r1 n4=4")
    asked = pods(8, anywhere=True, slices=[(BLOCK, 4), (RACK, 2)])

    assert moved(made, asked, "n1=1 n7=3 n8=4", "n7", "n8") == "n1=1 n2=1 n3=2 n4=4"


def test_slices_without_a_level_are_completed_too() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=2")

    assert moved(made, pods(4, slices=[(RACK, 2)]), "n1=1 n8=1 n9=2", "n8", "n9") == "n1=1 n2=1 n3=2"


def test_an_unhealthy_node_with_room_gets_no_pods() -> None:
    made = fleet("b1/r1 n1=4 n2=4 n3=1")

    assert moved(made, pods(3, required=RACK), "n1=1 n2=1 n3=1", "n1", "n2") == (
        'topology "default" doesn\'t allow to fit any of 2 pod(s). Total nodes: 3; '
        'excluded: resource "cpu": 1, unhealthy: 2'
    )


def test_no_pod_moves_unless_all_have_a_place() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=9")

    assert "fit only 1 out of 2" in moved(made, pods(3, required=RACK), "n1=1 n8=1 n9=1", "n8", "n9")


def test_a_leader_that_lost_its_node_stays_with_its_workers() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=9")
    leader, workers = pods(1, "leader", required=RACK, group="g"), pods(1, "workers", required=RACK, group="g")

    found = together(made, [(leader, assigned("n9=1")), (workers, assigned("n1=1"))], ("n9",))

    assert found == [assigned("n2=1")]


def test_a_leader_and_workers_that_lost_all_nodes_get_one_rack_together() -> None:
    made = fleet("b1/r1 n1=1; b1/r2 n2=1 n3=2")
    leader, workers = pods(1, "leader", required=RACK, group="g"), pods(2, "workers", required=RACK, group="g")

    found = together(made, [(leader, assigned("n8=1")), (workers, assigned("n9=2"))], ("n8", "n9"))

    assert found == [assigned("n3=1"), assigned("n2=1 n3=1")]


def test_pods_on_another_missing_node_matter_only_for_required_levels_and_slices() -> None:
    made = fleet("b1/r1 n1=1 n2=1; b1/r2 n3=2")

    assert moved(made, pods(3, required=RACK), "n1=1 n7=1 n9=1", "n9") == "n1=1 n2=1 n7=1"
    for asked in (pods(2, required=RACK), pods(2, anywhere=True, slices=[(RACK, 2)])):
        with pytest.raises(UncertainPlaces, match="contains the stale domain n7"):
            moved(fleet("b1/r1 n1=2"), asked, "n7=1 n9=1", "n9")


REQUESTS: tuple[tuple[int, dict[str, Any]], ...] = (
    (1, {"required": BLOCK}),
    (1, {"required": RACK}),
    (1, {"preferred": RACK}),
    (1, {"anywhere": True}),
    (2, {"required": BLOCK, "slices": [(RACK, 2)]}),
    (3, {"preferred": BLOCK, "slices": [(RACK, 3)]}),
    (2, {"slices": [(RACK, 2)]}),
    (4, {"anywhere": True, "slices": [(BLOCK, 4), (RACK, 2)]}),
)


def sound(made: Fleet, asked: PlacedPods, counts: dict[str, int]) -> bool:
    """Whether these pods by host are as the request says."""
    request, paths = asked.request, {each.id[0]: each.values for each in made.flavors[FLAVOR].tree.lowest()}
    if request.required:
        depth = LEVELS.index(request.required) + 1
        if len({paths[host][:depth] for host in counts}) > 1:
            return False
    for topology, size in request.layers:
        held = Counter[tuple[str, ...]]()
        for host, count in counts.items():
            held[paths[host][: LEVELS.index(topology) + 1]] += count
        if any(count % size for count in held.values()):
            return False
    return True


def spreads(room: dict[str, int], count: int) -> Iterator[dict[str, int]]:
    """All ways to put so many pods on these hosts."""
    if not count:
        yield {}
        return
    if not room:
        return
    (host, free), *others = room.items()
    for here in range(min(free, count) + 1):
        for rest in spreads(dict(others), count - here):
            yield {**({host: here} if here else {}), **rest}


@each_seed(40)
def test_a_valid_replacement_is_found_if_one_exists(seed: int) -> None:
    random = Random(seed)
    made = Fleet()
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
    hosts = [f"n{number}" for number in range(random.randint(4, 8))]
    for host in hosts:
        made.put_node(node(host, random.randint(0, 3), f"b{random.randint(0, 1)}", f"r{random.randint(0, 1)}"))
    size, request = random.choice(REQUESTS)
    asked = pods(size * random.randint(1, 6 // size or 1), **request)
    flavor = made.flavors[FLAVOR]
    present = flavor.place([asked], {}).assigned.get("main")
    if present is None or len(present.domains) < 2:
        return
    failed = tuple(random.sample([each.values[0] for each in present.domains], k=random.randint(1, 2)))
    if random.random() < 0.5:
        others = [host for host in hosts if (host,) not in present.counts()]
        failed += tuple(random.sample(others, k=min(len(others), 1)))
    gone = [host for host in failed if random.random() < 0.5]
    rest = {host[0]: count for host, count in present.without(*failed).counts().items()}
    for host in gone:
        made.drop_node(host)
    made.hold(FLAVOR, present, ONE)
    room = {each.id[0]: each.remain.get("cpu", 0) // 1000 for each in flavor.tree.lowest() if each.id[0] not in failed}
    lost = present.pods - sum(rest.values())
    ways = (Counter(rest) + Counter(way) for way in spreads(room, lost))

    found = replaced_together(flavor, [LostPods(asked, present.without(*failed), lost)], [], failed, {})

    if isinstance(found, str):
        assert not any(sound(made, asked, way) for way in ways), found
        return
    now = {host[0]: count for host, count in found[0].counts().items()}
    assert sum(now.values()) == present.pods
    assert not set(now) & set(failed)
    assert all(now.get(host, 0) >= count for host, count in rest.items()), "pods on healthy nodes stay"
    assert all(count - rest.get(host, 0) <= room[host] for host, count in now.items())
    assert sound(made, asked, now), drawn(found[0])
