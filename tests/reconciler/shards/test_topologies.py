"""Two shards never use the room of a node twice: trees with topologies belong to the shard `default`."""

from __future__ import annotations

import pytest

from tests.reconciler.core.racks import PLACED, TOPOLOGY, node
from tests.reconciler.recount import holds_quota
from tests.reconciler.shards.many import ManyParts, holder

QUEUE = ("ClusterQueue", "q3")


@pytest.fixture
def world() -> ManyParts:
    """The root of q3 names the shard `left`, and the others name none. One node has room for one pod."""
    made = ManyParts(1, shapes=False, faults=0.0)
    made.shared.put(("Node", "n1"), node("n1", 1))
    made.label(QUEUE, "left")
    made.settle()
    return made


def placed(world: ManyParts) -> list[str]:
    """The Workloads with quota, each with places on the only node."""
    found = [each for each in world.shared.workloads() if holds_quota(each)]
    assert all("'universal': 'n1'" in str(each["status"]["admission"]) for each in found)
    return [each["metadata"]["name"] for each in found]


def with_topology(world: ManyParts) -> None:
    world.shared.put(("Topology", "racks"), TOPOLOGY)
    world.shared.put(("ResourceFlavor", "plain"), PLACED)


def test_two_trees_do_not_use_the_same_room_of_a_node(world: ManyParts) -> None:
    with_topology(world)
    world.settle()
    world.submit("one", "q0", 1)
    world.submit("other", "q3", 1)
    for process in world.processes.values():  # each decides before it hears of the others
        process.round("Workload")
    for process in world.processes.values():
        process.pass_on()
    world.settle()

    assert len(placed(world)) == 1


def test_a_tree_moves_to_the_default_shard_when_its_flavor_gets_a_topology(world: ManyParts) -> None:
    before = holder(world.shared.objects[QUEUE])
    with_topology(world)
    left = world.processes["left"]
    left.round("ResourceFlavor")
    stops = left.decides("q3")
    world.settle()

    assert (before, stops) == ("left", False)
    assert holder(world.shared.objects[QUEUE]) == "default"
    assert [part for part, process in world.processes.items() if process.decides("q3")] == ["default"]


def test_a_tree_moves_to_the_default_shard_only_while_it_has_a_topology_flavor(world: ManyParts) -> None:
    world.shared.put(("Topology", "racks"), TOPOLOGY)
    racked = {**PLACED, "metadata": {"name": "racked"}}
    world.shared.put(("ResourceFlavor", "racked"), racked)
    queue = world.shared.objects[QUEUE]
    (group,) = queue["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    more = [{**group, "flavors": [flavor, {**flavor, "name": "racked"}]}]
    holders = []
    for groups in (more, [group]):
        world.shared.edit(QUEUE, {"spec": {"resourceGroups": groups}})
        world.settle()
        holders.append(holder(world.shared.objects[QUEUE]))

    assert holders == ["default", "left"]


def test_a_new_leader_places_no_pod_where_a_late_write_of_another_tree_may_place_one(world: ManyParts) -> None:
    world.label(QUEUE, "")
    with_topology(world)
    world.settle()
    world.submit("late", "q0", 1)
    world.processes["default"].round("Workload")
    world.start("default")
    for number in range(20):
        world.submit(f"more-{number}", "q0", 1)
    world.submit("other", "q3", 1)
    default = world.processes["default"]
    for _ in range(5):
        default.round()
        default.line.serve("ns/other")
    assert not default.decides("q3")
    for write in world.late:
        write()
    world.settle()

    assert placed(world) == ["late"]


def test_a_new_leader_decides_for_all_trees_with_topologies_when_the_last_one_is_fenced(world: ManyParts) -> None:
    world.label(QUEUE, "")
    with_topology(world)
    world.settle()
    world.start("default")
    world.submit("one", "q0", 1)
    world.submit("other", "q3", 1)
    world.settle()

    assert len(placed(world)) == 1
    assert all(map(world.processes["default"].decides, ("q0", "q1", "q2", "q3")))
