"""Shared by the rules about topologies: the Topologies of a queue's flavors, and the room in their domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policies.dialects.cluster_node import ClusterNode
from policies.dialects.core import NODE
from policies.dialects.kueue import ClusterQueue
from policies.dialects.kueue_checks import WrittenTopology
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.kueue_kinds import topology_ref
from policies.judging.proposal import Proposal
from policies.rules.kueue._submissions import flavors_of


def topologies_of(proposal: Proposal, queue: ClusterQueue) -> Mapping[str, WrittenTopology | None] | None:
    """The Topology of each flavor of the queue, None where it has none; None if an object does not exist."""
    flavors = flavors_of(proposal.after, queue)
    if flavors is None:
        return None
    found: dict[str, WrittenTopology | None] = {}
    for name, flavor in flavors.items():
        topology = proposal.after.get(topology_ref(flavor.topology)) if flavor.topology else None
        if flavor.topology and not isinstance(topology, WrittenTopology):
            return None
        found[name] = topology if isinstance(topology, WrittenTopology) else None
    return found


def known_nodes(proposal: Proposal) -> list[ClusterNode]:
    """All Nodes; none if not all are known. Looks at every object, but not for a request to the webhook."""
    if proposal.unknown(NODE) and proposal.circumstances.user.name:
        return []
    return [obj for obj in proposal.after.objects() if isinstance(obj, ClusterNode)]


def nodes_of(nodes: Iterable[ClusterNode], flavor: Flavor, levels: Iterable[str]) -> list[ClusterNode]:
    """The nodes that the flavor stands for and that lie in a domain of each level."""
    return [
        node
        for node in nodes
        if flavor.labels.items() <= node.labels.items() and all(level in node.labels for level in levels)
    ]


class NodeDomain(NamedTuple):
    """Where pods of one template fit: `values` of the levels down to this one, and the number of pods with no other
    work there."""

    values: tuple[str, ...]
    room: int


def largest(nodes: Iterable[ClusterNode], levels: Iterable[str], requests: Mapping[str, int]) -> NodeDomain:
    """The domain of the last of these levels with the most room, the first by name; no values where there is none."""
    rooms: dict[tuple[str, ...], int] = {}
    keys = tuple(levels)
    for node in nodes:
        values = tuple(node.labels[key] for key in keys)
        rooms[values] = rooms.get(values, 0) + _room(node, requests)
    return max(
        (NodeDomain(values, room) for values, room in sorted(rooms.items())), key=_by_room, default=NodeDomain((), 0)
    )


def _by_room(domain: NodeDomain) -> int:
    return domain.room


def _room(node: ClusterNode, requests: Mapping[str, int]) -> int:
    """Pods that the empty node takes. A Node that does not limit its pods takes as many as its resources allow."""
    each = {"pods": 1, **requests} if "pods" in node.allocatable else requests
    return min((node.allocatable.get(name, 0) // amount for name, amount in each.items()), default=0)
