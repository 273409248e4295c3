"""Topologies of racks in which each node is looked at by itself, compared with all that could be tried.

Assignments name racks. What workloads hold is known by rack, what pods outside topologies use by node.
"""

from __future__ import annotations

from random import Random

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.taints import Taint
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, TopologyAssignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.placing import PlacedPods, TopologyGates
from scheduling.topology.workload_places import TopologyUsage, fits
from tests.profiles import each_seed
from tests.scheduling.topology.drawn import BLOCK, FLAVOR, RACK, assigned, fleet, node, place, pods, random_nodes

LEVELS = (BLOCK, RACK)
GATES = TopologyGates(each_node=True)
ONE = {"cpu": 1000}
TAINT = Taint("down", "", "NoSchedule")
_FULL = 6
"""Seeds for each example of the profile."""


def racks(text: str) -> Fleet:
    return fleet(text, LEVELS, GATES)


def in_rack(pods: int, rack: str = "r1", block: str = "b1") -> TopologyAssignment:
    return TopologyAssignment(LEVELS, (AssignedDomain((block, rack), pods),))


def test_a_pod_needs_one_node_with_room_for_it() -> None:
    text = "b1/r1 n1=2 n2=2; b1/r2 n3=3"

    assert place(racks(text), pods(1, cpu=3, required=RACK)) == {"main": "b1,r2=1"}
    assert place(fleet(text, LEVELS), pods(1, cpu=4, required=RACK)) == {"main": "b1,r1=1"}
    says = 'topology "default" doesn\'t allow to fit any of 1 pod(s). Total nodes: 3; excluded: resource "cpu": 3'
    assert place(racks(text), pods(1, cpu=4, required=RACK)) == {"main": says}


def test_a_node_that_the_pods_may_not_use_does_not_count() -> None:
    made = racks("b1/r1 n1=2; b1/r2 n3=1")
    made.put_node(node("n2", 9, taints=(TAINT,)))

    says = (
        'topology "default" allows to fit only 2 out of 3 pod(s). Total nodes: 3; excluded: taint "down:NoSchedule": 1'
    )
    assert place(made, pods(3, required=RACK)) == {"main": says}


def test_nodes_with_the_same_hostname_label_are_separate_and_not_a_level() -> None:
    made = racks("b1/r1 n1=2")
    made.put_node(TopologyNode("twin", dict(node("n1", 2).labels), (), {"cpu": 2000, "pods": 9}))

    assert place(made, pods(2, cpu=2, required=RACK)) == {"main": "b1,r1=2"}
    assert place(made, pods(1, cpu=3, required=RACK))["main"].startswith('topology "default" doesn\'t allow')
    assert place(made, pods(1, required=HOSTNAME)) == {"main": f"no requested topology level: {HOSTNAME}"}


def test_usage_of_workloads_counts_in_the_rack_and_not_on_a_node() -> None:
    made = racks("b1/r1 n1=2 n2=2; b1/r2 n3=1")
    made.hold(FLAVOR, in_rack(2), ONE)

    assert place(made, pods(2, required=RACK)) == {"main": "b1,r1=2"}
    assert "only 2 out of 3" in place(made, pods(3, required=RACK))["main"]
    assert place(made, pods(4, required=RACK), empty=True) == {"main": "b1,r1=4"}
    made.drop_node("n1")
    made.drop_node("n2")
    assert place(made, pods(1, required=RACK)) == {"main": "b1,r2=1"}
    made.put_node(node("n1", 2))
    assert place(made, pods(1, required=RACK)) == {"main": "b1,r2=1"}


def test_the_next_pod_set_does_not_use_the_nodes_of_the_first() -> None:
    made = racks("b1/r1 n1=3 n2=3")
    first, second = pods(2, "first", cpu=2, required=RACK), pods(1, "second", cpu=2, required=RACK)

    found = place(made, first, second)

    assert found["first"] == "b1,r1=2"
    assert 'excluded: resource "cpu": 2' in found["second"]


def test_a_leader_and_its_workers_share_a_rack_and_not_a_node() -> None:
    group = {"required": RACK, "group": "g"}

    found = place(racks("b1/r1 n1=2 n2=2; b1/r2 n3=3"), pods(1, "l", 2, **group), pods(2, "w", 1, **group))

    assert found == {"l": "b1,r1=1", "w": "b1,r1=2"}


def test_the_last_check_before_admission_counts_nodes_and_racks() -> None:
    made = racks("b1/r1 n1=3 n2=3")

    def fit(cpu: int, count: int) -> bool:
        return fits(made, [TopologyUsage(FLAVOR, ("b1", "r1"), {"cpu": cpu}, count)])

    assert (fit(2000, 2), fit(2000, 3), fit(1000, 6)) == (True, False, True)
    made.hold(FLAVOR, in_rack(3), ONE)
    assert (fit(1000, 3), fit(1000, 4), fit(2000, 2)) == (True, False, False)


def drawn_world(random: Random) -> Fleet:
    """Nodes of which some are tainted, with pods outside topologies, and racks that hold work."""
    made = Fleet(GATES)
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
    for each in random_nodes(random):
        tainted = (TAINT,) if random.random() < 0.2 else ()
        made.put_node(TopologyNode(each.name, each.labels, tainted, each.allocatable))
    for host in random.sample(list(made.nodes), min(2, len(made.nodes))):
        made.put_pod(f"ns/{host}", host, ONE)
    for each in random.sample(list(made.nodes.values()), min(2, len(made.nodes))):
        block, rack = (each.labels[key] for key in LEVELS)
        made.hold(FLAVOR, in_rack(random.randint(1, 3), rack, block), ONE)
    return made


class Rack:
    """The second opinion: the room of one rack, as (cores, pods) of each node that may be used and of all nodes."""

    def __init__(self, made: Fleet, path: tuple[str, ...]) -> None:
        members = [each for each in made.nodes.values() if tuple(each.labels[key] for key in LEVELS) == path]
        rooms = {each.name: self._left(made, each) for each in members}
        held = made.flavors[FLAVOR].tree.held.get(path)
        self.nodes = [rooms[each.name] for each in members if not each.taints]
        self.whole = (
            sum(cores for cores, _ in rooms.values()) - held.get("cpu", 0) // 1000,
            sum(count for _, count in rooms.values()) - held.get("pods", 0),
        )

    @staticmethod
    def _left(made: Fleet, member: TopologyNode) -> tuple[int, int]:
        taken = made.foreign.get(member.name)
        return (
            (member.allocatable["cpu"] - taken.get("cpu", 0)) // 1000,
            member.allocatable["pods"] - taken.get("pods", 0),
        )

    def room(self, cpu: int) -> int:
        return min(sum(fitting(each, cpu) for each in self.nodes), fitting(self.whole, cpu))

    def room_beside(self, leader: int, cpu: int) -> int:
        """Pods beside a leader on the node where it costs least; -1 without a node for the leader."""
        cores, count = self.whole
        if fitting(self.whole, leader) < 1:
            return -1
        rooms = [
            sum(fitting(other, cpu) for number, other in enumerate(self.nodes) if number != at)
            + fitting((each[0] - leader, each[1] - 1), cpu)
            for at, each in enumerate(self.nodes)
            if fitting(each, leader) > 0
        ]
        return min(max(rooms, default=-1), fitting((cores - leader, count - 1), cpu))


def fitting(rest: tuple[int, int], cpu: int) -> int:
    return min(max(0, rest[0]) // cpu, max(0, rest[1]))


def racks_of(made: Fleet) -> dict[tuple[str, ...], Rack]:
    paths = {tuple(each.labels[key] for key in LEVELS) for each in made.nodes.values()}
    return {path: Rack(made, path) for path in sorted(paths)}


@each_seed(_FULL)
def test_pods_are_placed_if_and_only_if_nodes_and_racks_have_the_room(seed: int) -> None:
    random = Random(seed)
    made, cpu, size = drawn_world(random), random.randint(1, 2), random.randint(1, 3)
    count = size * random.randint(1, 4)
    slices = {"slices": [(RACK, size)]} if size > 1 else {}
    request = random.choice(({"required": RACK}, {"required": BLOCK}, {"preferred": BLOCK}, {"anywhere": not slices}))

    found = made.flavors[FLAVOR].place([pods(count, cpu=cpu, **request, **slices)], {})

    room = {path: rack.room(cpu) // size * size for path, rack in racks_of(made).items()}
    blocks: dict[str, int] = {}
    for (block, _), each in room.items():
        blocks[block] = blocks.get(block, 0) + each
    most = {RACK: max(room.values()), BLOCK: max(blocks.values())}.get(request.get("required"), sum(room.values()))
    assert (most >= count) is not bool(found.refused)
    if found.assigned:
        taken = dict(found.assigned["main"].domains)
        assert sum(taken.values()) == count
        assert all(pods <= room[path] and pods % size == 0 for path, pods in taken.items())


@each_seed(_FULL)
def test_a_leader_and_its_workers_share_a_rack_if_one_has_room(seed: int) -> None:
    random = Random(seed)
    made, count = drawn_world(random), random.randint(1, 5)
    leader, cpu = random.randint(1, 3), random.randint(1, 2)
    group = {"required": RACK, "group": "g"}

    found = made.flavors[FLAVOR].place([pods(1, "l", leader, **group), pods(count, "w", cpu, **group)], {})

    rooms = {path: rack.room_beside(leader, cpu) for path, rack in racks_of(made).items()}
    pair = ("l", "w") if count > 1 else ("w", "l")
    if count == 1:  # of two sets of one size the first are the workers
        rooms = {path: rack.room_beside(cpu, leader) for path, rack in racks_of(made).items()}
    assert (max(rooms.values()) >= count) is not bool(found.refused)
    if found.assigned:
        ((of_leader, _),) = found.assigned[pair[0]].domains
        ((of_workers, taken),) = found.assigned[pair[1]].domains
        assert of_leader == of_workers
        assert rooms[of_workers] >= taken == count


def _ask(random: Random) -> list[PlacedPods]:
    level = random.choice(LEVELS)
    request = random.choice(({"required": level}, {"preferred": level}, {"anywhere": True}))
    count, cpu = random.randint(2, 8), random.randint(1, 2)
    if random.random() < 0.5 and "anywhere" not in request:
        group = {**request, "group": "g"}
        return [pods(1, "l", random.randint(1, 2), **group), pods(count, "w", cpu, **group)]
    return [pods(count, cpu=cpu, **request), pods(1, "next", 1, required=RACK)]


@each_seed(_FULL)
def test_placements_after_any_events_equal_those_of_a_new_fleet(seed: int) -> None:
    random = Random(seed)
    made, ask = drawn_world(random), _ask(random)
    held: list[TopologyAssignment] = []
    for step in range(12):
        host = random.choice([f"n{number:02}" for number in range(12)])
        match random.randrange(5):
            case 0:
                made.drop_node(host)
            case 1:
                made.put_node(node(host, random.randint(1, 4), f"b{random.randint(1, 2)}", f"r{random.randint(1, 2)}"))
            case 2:
                made.put_pod(f"ns/p{step}", host, ONE)
            case 3:
                held.append(in_rack(random.randint(1, 2), f"r{random.randint(1, 2)}", f"b{random.randint(1, 2)}"))
                made.hold(FLAVOR, held[-1], ONE)
            case 4 if held:
                made.hold(FLAVOR, held.pop(), ONE, -1)
        fresh = Fleet(GATES)
        fresh.foreign, fresh.nodes, fresh._held = made.foreign, made.nodes, made._held
        fresh.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
        assert place(made, *ask) == place(fresh, *ask)


def test_the_gate_changes_nothing_in_a_topology_of_hosts() -> None:
    made = fleet(gates=GATES)
    made.hold(FLAVOR, assigned("n1=1"), ONE)
    plain = fleet()
    plain.hold(FLAVOR, assigned("n1=1"), ONE)

    for asked in (pods(4, required=RACK), pods(5, anywhere=True), pods(7, preferred=RACK)):
        assert place(made, asked) == place(plain, asked)
