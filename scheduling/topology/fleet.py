"""All nodes with the pods on them, and the topologies of flavors over these nodes, updated by events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from policies.dialects.kueue_flavor import Flavor
from scheduling.topology.assignment import HOSTNAME, TopologyAssignment
from scheduling.topology.counting import pod_request
from scheduling.topology.domains import TopologyTree, Usage
from scheduling.topology.node_filter import TopologyNode
from scheduling.topology.placing import DEFAULT_GATES, FlavorTopology, TopologyGates

_HOSTS = ""
"""The key of the usage that all topologies of hosts share. No flavor has this name."""


class HeldPlaces(NamedTuple):
    """Places of a workload in a flavor. `requests`: of one pod, in base units, without the pod itself."""

    flavor: str
    assignment: TopologyAssignment
    requests: Mapping[str, int]


class Fleet:
    """The nodes that can take pods, and the topologies of flavors by the flavor's name.

    Pods outside of topologies count on their node, by `put_pod` and `drop_pod`. Places in a topology of hosts count in
    every flavor with such a topology, since these flavors may share nodes.
    """

    def __init__(self, gates: TopologyGates = DEFAULT_GATES) -> None:
        self.flavors: dict[str, FlavorTopology] = {}
        self.nodes: dict[str, TopologyNode] = {}
        self.foreign = Usage()
        self.gates = gates
        self._pods: dict[str, tuple[str, Mapping[str, int]]] = {}  # node and requests of each pod outside of topologies
        self._held: dict[str, Usage] = {}  # usage of workloads by flavor; topologies of hosts share one
        self._log: list[tuple[HeldPlaces, int]] = []  # the undo log of the current simulation
        self._simulations = 0

    def put_flavor(self, flavor: Flavor, levels: tuple[str, ...]) -> None:
        """Add or replace a flavor whose Topology has these levels, coarsest first.

        Places of workloads in the flavor still count.
        """
        ledger = _HOSTS if levels[-1] == HOSTNAME and self.gates.overlapping else flavor.name
        held = self._held.setdefault(ledger, Usage())
        tree = TopologyTree(levels, flavor.labels, self.foreign, held, each_node=self.gates.each_node)
        for node in self.nodes.values():
            tree.put(node)
        self.flavors[flavor.name] = FlavorTopology(flavor.topology or "", tree, flavor.tolerations, self.gates)

    def drop_flavor(self, flavor: str) -> None:
        self.flavors.pop(flavor, None)

    def put_node(self, node: TopologyNode) -> None:
        """Add or update a node that can take pods: Ready and not cordoned."""
        self.nodes[node.name] = node
        for flavor in self.flavors.values():
            flavor.tree.put(node)

    def drop_node(self, name: str) -> None:
        """Remove a node that was deleted, is not Ready, or is cordoned."""
        if self.nodes.pop(name, None) is not None:
            for flavor in self.flavors.values():
                flavor.tree.drop(name)

    def flavors_of(self, node: str) -> list[str]:
        return [name for name, flavor in self.flavors.items() if flavor.tree.has_node(node)]

    def flavors_at(self, places: Iterable[HeldPlaces]) -> list[str]:
        found = [(self._held.get(self._ledger(each)), each.assignment.counts()) for each in places]
        trees = {name: flavor.tree for name, flavor in self.flavors.items()}
        return [
            name
            for name, tree in trees.items()
            if any(tree.held is held and any(tree.find(domain) for domain in domains) for held, domains in found)
        ]

    def counts_in(self, tree: TopologyTree, places: HeldPlaces) -> bool:
        """Whether places of this flavor take room in the domains of the tree."""
        return self._held.get(self._ledger(places)) is tree.held

    def put_pod(self, key: str, node: str, requests: Mapping[str, int]) -> str:
        """Add or update a pod outside of topologies that runs on this node.

        Returns the node whose room a changed pod took before; else an empty string.
        """
        if self._pods.get(key) == (node, requests):
            return ""
        before = self.drop_pod(key)
        self._pods[key] = (node, requests)
        self._count_pod(node, requests, 1)
        return before

    def drop_pod(self, key: str) -> str:
        """Remove a pod that was deleted or has ended. Returns its node; empty if the pod was not counted."""
        found = self._pods.pop(key, None)
        if found is None:
            return ""
        self._count_pod(*found, -1)
        return found[0]

    def _count_pod(self, node: str, requests: Mapping[str, int], times: int) -> None:
        amounts = dict(pod_request(requests))
        self.foreign.add(node, amounts, times)
        for flavor in self.flavors.values():
            flavor.tree.foreign_changed(node, amounts, times)

    def hold(self, flavor: str, assignment: TopologyAssignment, requests: Mapping[str, int], times: int = 1) -> None:
        """Count the places of the assignment in this flavor; with `times` -1, release them.

        requests: of each pod. Usage of a flavor or a domain that does not exist is kept until it does.
        """
        ledger = self._ledger(HeldPlaces(flavor, assignment, requests))
        single = dict(pod_request(requests))
        held = self._held.setdefault(ledger, Usage())
        trees = [each.tree for each in self.flavors.values() if each.tree.held is held]
        for domain, pods in assignment.counts().items():
            held.add(domain, single, times * pods)
            for tree in trees:
                tree.held_changed(domain, single, times * pods)
        if self._simulations:
            self._log.append((HeldPlaces(flavor, assignment, requests), times))

    def _ledger(self, places: HeldPlaces) -> str:
        """The key of the usage in which these places count."""
        return _HOSTS if places.assignment.by_host and self.gates.overlapping else places.flavor

    def count(self, places: Iterable[HeldPlaces], times: int = 1) -> None:
        """Count all these places; with `times` -1, release them."""
        for each in places:
            self.hold(each.flavor, each.assignment, each.requests, times)

    @contextmanager
    def simulation(self) -> Iterator[None]:
        """A context at whose end all changes of places are undone. Contexts nest. Nodes and flavors must not change."""
        restore_point = len(self._log)
        self._simulations += 1
        try:
            yield
        finally:
            undone = self._log[restore_point:]
            for places, times in reversed(undone):
                self.count([places], -times)
            del self._log[restore_point:]
            self._simulations -= 1
