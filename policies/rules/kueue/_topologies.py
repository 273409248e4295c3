"""Shared by the rules about topologies: the Topologies of flavors, and the room in their domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policies.dialects.cluster_node import ClusterNode
from policies.dialects.core import NODE
from policies.dialects.kueue import ClusterQueue
from policies.dialects.kueue_checks import WrittenTopology
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_kinds import TOPOLOGY
from policies.judging.rule import Proposal
from policies.rules.kueue._submissions import flavors_of


def topologies_of(proposal: Proposal, queue: ClusterQueue) -> Mapping[str, WrittenTopology | None] | None:
    """The Topology of each flavor of the queue, or None for one without; None if an object does not exist."""
    flavors = flavors_of(proposal.after, queue)
    if flavors is None:
        return None
    found: dict[str, WrittenTopology | None] = {}
    for name, flavor in flavors.items():
        topology = proposal.after.get(TOPOLOGY.named(flavor.topology)) if flavor.topology else None
        if flavor.topology and not isinstance(topology, WrittenTopology):
            return None
        found[name] = topology if isinstance(topology, WrittenTopology) else None
    return found


def known_nodes(proposal: Proposal) -> list[ClusterNode]:
    """All Nodes; empty if some are not known, as in the webhook. Otherwise it visits all objects."""
    if proposal.unknown(NODE) and proposal.circumstances.user.name:
        return []
    return [obj for obj in proposal.after.objects() if isinstance(obj, ClusterNode)]


def nodes_of(nodes: Iterable[ClusterNode], flavor: Flavor, levels: Iterable[str]) -> list[ClusterNode]:
    """The Nodes of the flavor that have the labels of all levels."""
    return [
        node
        for node in nodes
        if flavor.labels.items() <= node.labels.items() and all(level in node.labels for level in levels)
    ]


class NodeDomain(NamedTuple):
    """A domain.

    `values`: the values of the levels from the widest to this one.
    `room`: how many pods of one template fit, without other work.
    """

    values: tuple[str, ...]
    room: int


def largest(nodes: Iterable[ClusterNode], levels: Iterable[str], requests: Mapping[str, int]) -> NodeDomain:
    """The domain of the last of these levels with the most room; of equal ones the first by name. Without any domain,
    the values are empty."""
    rooms: dict[tuple[str, ...], int] = {}
    keys = tuple(levels)
    for node in nodes:
        values = tuple(node.labels[key] for key in keys)
        rooms[values] = rooms.get(values, 0) + _room(node, requests)
    domains = (NodeDomain(values, room) for values, room in sorted(rooms.items()))
    return max(domains, key=lambda domain: domain.room, default=NodeDomain((), 0))


def _room(node: ClusterNode, requests: Mapping[str, int]) -> int:
    """How many pods fit on the empty Node. If it has no limit of pods, only the other resources count."""
    each = {"pods": 1, **requests} if "pods" in node.allocatable else requests
    return min((node.allocatable.get(name, 0) // amount for name, amount in each.items()), default=0)
