"""The domains of a flavor's topology for displays: the room of each, and the workloads in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduling.quota.state import QuotaState
from scheduling.topology.domains import Domain, RoomDomain, TopologyTree
from scheduling.topology.fleet import Fleet


class PodsOfWorkload(NamedTuple):
    """A workload (`namespace/name`) with the number of its pods in a domain."""

    key: str
    queue: str
    pods: int


@dataclass(slots=True)
class DomainUsage:
    """The usage of a domain, in base units by resource.

    values: its path.
    nodes: the number of its nodes.
    capacity: the amounts of its nodes.
    outside: the usage of pods outside of topologies.
    held: the usage of workloads in topologies.
    """

    values: tuple[str, ...]
    nodes: int = 0
    capacity: dict[str, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    workloads: list[PodsOfWorkload] = field(default_factory=list)

    def free(self, resource: str) -> int:
        """The free amount; negative if more is used than the domain has."""
        return self.capacity.get(resource, 0) - self.outside.get(resource, 0) - self.held.get(resource, 0)


class TopologySummary(NamedTuple):
    """A flavor with a topology. levels: coarsest first. usage: of all its Nodes that can take pods."""

    flavor: str
    topology: str
    levels: tuple[str, ...]
    usage: DomainUsage


def topologies(fleet: Fleet | None) -> list[TopologySummary]:
    """The flavors with a topology, by name. It costs a pass over their Nodes."""
    found = []
    for name, each in sorted(fleet.flavors.items() if fleet is not None else ()):
        usage = DomainUsage(())
        for root in each.tree.roots:
            for lowest in _lowest(root):
                _add(usage, lowest)
        found.append(TopologySummary(name, each.name, each.tree.levels, usage))
    return found


def domains_below(state: QuotaState, flavor: str, within: Sequence[str]) -> list[DomainUsage]:
    """The children of the domain with the path `within`, by name; the domains of the highest level if it is empty.

    It costs a pass over the nodes in the domain and over the workloads with quota. Raises KeyError if the flavor has no
    topology, or the domain does not exist.
    """
    fleet = state.fleet
    if fleet is None:
        raise KeyError(flavor)
    tree = fleet.flavors[flavor].tree
    found: dict[tuple[str, ...], DomainUsage] = {}
    for domain in _below(tree, tuple(within)):
        usage = found[domain.values] = DomainUsage(domain.values)
        for lowest in _lowest(domain):
            _add(usage, lowest)
    depth = len(within) + 1
    for key, queue, counts in _held(state, fleet, tree):
        pods: Counter[tuple[str, ...]] = Counter()
        for lowest, count in counts:
            pods[lowest.values[:depth]] += count
        for values, count in pods.items():
            if values in found:
                found[values].workloads.append(PodsOfWorkload(key, queue, count))
    for usage in found.values():
        usage.workloads.sort(key=lambda each: (-each.pods, each.key))
    return list(found.values())


def _below(tree: TopologyTree, within: tuple[str, ...]) -> Iterable[Domain]:
    if not within:
        return tree.roots
    level = tree.at_level(len(within) - 1) if len(within) < len(tree.levels) else ()
    above = next((each for each in level if each.values == within), None)
    if above is None or isinstance(above, RoomDomain):
        raise KeyError("/".join(within))
    return above.children


def _lowest(domain: Domain) -> Iterator[RoomDomain]:
    """Yield the lowest domains in this one that assignments name, or the domain itself."""
    if isinstance(domain, RoomDomain):
        yield domain
        return
    for child in domain.children:
        yield from _lowest(child)


def _add(usage: DomainUsage, lowest: RoomDomain) -> None:
    usage.nodes += len(lowest.nodes)
    capacity = Counter[str]()
    for node in lowest.nodes.values():
        capacity.update(node.allocatable)
    for name, amount in capacity.items():
        free, remain = lowest.free.get(name, 0), lowest.remain.get(name, 0)
        usage.capacity[name] = usage.capacity.get(name, 0) + amount
        usage.outside[name] = usage.outside.get(name, 0) + amount - free
        usage.held[name] = usage.held.get(name, 0) + free - remain


def _held(
    state: QuotaState, fleet: Fleet, tree: TopologyTree
) -> Iterator[tuple[str, str, list[tuple[RoomDomain, int]]]]:
    """Yield each workload with places in the tree, its ClusterQueue, and its pods by domain."""
    for queue in state.queues.values():
        for reservation in queue.reservations.values():
            counts = [
                (lowest, pods)
                for places in reservation.places
                if fleet.counts_in(tree, places)
                for domain, pods in places.assignment.counts().items()
                if (lowest := tree.find(domain)) is not None
            ]
            if counts:
                yield reservation.key, queue.name, counts
