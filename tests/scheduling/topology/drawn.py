"""Clusters and pods for tests of topologies, drawn as text."""

from __future__ import annotations

from random import Random
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, TopologyAssignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.placing import DEFAULT_GATES, PlacedPods, TopologyGates
from scheduling.topology.request import SliceLayer, TopologyRequest

BLOCK, RACK = "block", "rack"
LEVELS = (BLOCK, RACK, HOSTNAME)
FLAVOR = "tas"
TREE = "b1/r1 n1=3 n2=1; b1/r2 n3=2 n4=2; b2/r1 n5=4; b2/r2 n6=1 n7=2"
"""Tree A of the worked examples: cpu by node."""


def node(name: str, cpu: int, block: str = "b1", rack: str = "r1", **others: Any) -> TopologyNode:
    labels = {BLOCK: block, RACK: rack, HOSTNAME: name, **others.pop("labels", {})}
    allocatable = {"cpu": cpu * 1000, "pods": others.pop("pods", 110), **others.pop("allocatable", {})}
    return TopologyNode(name, labels, others.pop("taints", ()), allocatable)


def nodes(text: str = TREE) -> list[TopologyNode]:
    """`block/rack host=cpu ...` for each rack, with semicolons between them."""
    found = []
    for part in text.split(";"):
        place, *hosts = part.split()
        block, rack = place.split("/")
        found += [node(host.split("=")[0], int(host.split("=")[1]), block, rack) for host in hosts]
    return found


def fleet(text: str = TREE, levels: tuple[str, ...] = LEVELS, gates: TopologyGates = DEFAULT_GATES) -> Fleet:
    made = Fleet(gates)
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), levels)
    for each in nodes(text):
        made.put_node(each)
    return made


def pods(count: int, name: str = "main", cpu: int = 1, **request: Any) -> PlacedPods:
    """Pods of `cpu` cores each. `slices` are (level, size) pairs; the rest are fields of the request."""
    layers = tuple(SliceLayer(*each) for each in request.pop("slices", ()))
    return PlacedPods(name, count, {"cpu": cpu * 1000}, TopologyRequest(layers=layers, **request))


def place(made: Fleet, *pod_sets: PlacedPods, empty: bool = False) -> dict[str, str]:
    """`n1=3 n2=1`, or the reason, for each pod set that was tried."""
    found = made.flavors[FLAVOR].place(pod_sets, {}, empty=empty)
    return {**{name: drawn(assignment) for name, assignment in found.assigned.items()}, **found.refused}


def drawn(assignment: TopologyAssignment) -> str:
    return " ".join(f"{','.join(values)}={count}" for values, count in assignment.domains)


def assigned(text: str) -> TopologyAssignment:
    """An assignment of hosts from `n1=3 n2=1`."""
    pairs = (each.split("=") for each in text.split())
    return TopologyAssignment((HOSTNAME,), tuple(AssignedDomain((host,), int(count)) for host, count in pairs))


def random_nodes(random: Random) -> list[TopologyNode]:
    """Up to three blocks, of up to three racks, of up to four hosts with a little room."""
    names = [f"n{number:02}" for number in range(40)]
    random.shuffle(names)
    return [
        node(names.pop(), random.randint(0, 4), f"b{block}", f"r{rack}", pods=random.choice((2, 110)))
        for block in range(random.randint(1, 3))
        for rack in range(random.randint(1, 3))
        for _ in range(random.randint(1, 4))
    ]


def cluster(random: Random, gates: TopologyGates | None = None) -> Fleet:
    """Nodes as above, on some of which other workloads hold a place."""
    made = Fleet(gates or TopologyGates())
    made.put_flavor(Flavor(FLAVOR, {}, topology="default"), LEVELS)
    for each in random_nodes(random):
        made.put_node(each)
    for host in random.sample(list(made.nodes), min(3, len(made.nodes))):
        made.hold(FLAVOR, assigned(f"{host}=1"), {"cpu": 1000})
    return made


def free(made: Fleet) -> dict[str, tuple[int, int]]:
    """Cores and pods that each host has left; never below zero."""
    rooms = {each.id[0]: each.remain for each in made.flavors[FLAVOR].tree.lowest()}
    return {host: (max(0, room.get("cpu", 0) // 1000), max(0, room.get("pods", 0))) for host, room in rooms.items()}


def fitting(rest: tuple[int, int], cpu: int, leader: int = 0) -> int:
    """Pods of `cpu` cores beside a leader of that many; -1 if the leader itself does not fit."""
    cores, count = rest[0] - leader, rest[1] - (1 if leader else 0)
    return -1 if min(cores, count) < 0 else min(cores // cpu, count)


def below(made: Fleet, level: str) -> dict[tuple[str, ...], list[str]]:
    """The hosts of each domain of the level."""
    depth = LEVELS.index(level) + 1
    found: dict[tuple[str, ...], list[str]] = {}
    for each in made.nodes.values():
        path = tuple(each.labels[key] for key in LEVELS)
        found.setdefault(path[:depth], []).append(each.name)
    return found


def hosts(assignment: TopologyAssignment) -> dict[str, int]:
    return {values[0]: count for values, count in assignment.domains}
