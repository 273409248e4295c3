"""The domains of one flavor's topology as a tree. A node, a pod or a workload that changes costs the depth of the tree.

The order of domains is that of their values, level by level, by code point. Lists are kept in this order, so that a
stable sort by room leaves equal domains in it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from scheduling.objects.amounts import add_to
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, DomainId
from scheduling.topology.node_filter import TopologyNode

_VALUES = attrgetter("values")


class Domain:
    """One value path: `values` from the highest level down to its own, which is number `level`, 0 for the highest."""

    __slots__ = ("children", "level", "parent", "values")

    def __init__(self, values: tuple[str, ...], parent: Domain | None) -> None:
        self.values = values
        self.level = len(values) - 1
        self.parent = parent
        self.children: list[Domain] = []

    def is_within(self, above: Domain) -> bool:
        """Whether it is that domain or one below it."""
        return self.values[: above.level + 1] == above.values

    def ancestors(self) -> Iterator[Domain]:
        """The domains above it, from its parent up."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class RoomDomain(Domain):
    """A domain with its room by resource, in base units. Assignments name those of the lowest level of the Topology.

    free: what its nodes have, less pods outside topologies. remain: `free` less what workloads hold in topologies.
    Both may be negative. `nodes` are by name.
    """

    __slots__ = ("free", "id", "nodes", "remain")

    def __init__(self, key: DomainId, values: tuple[str, ...], parent: Domain | None) -> None:
        super().__init__(values, parent)
        self.id = key
        self.nodes: dict[str, TopologyNode] = {}
        self.free: dict[str, int] = {}
        self.remain: dict[str, int] = {}


class LowestDomain(RoomDomain):
    """A domain without others below it. Where it is a single node, `node` is the one whose labels and taints count."""

    __slots__ = ("node",)

    node: TopologyNode


@dataclass(slots=True)
class Usage:
    """Amounts by key and resource. Amounts that are zero are not kept."""

    amounts: dict[object, dict[str, int]] = field(default_factory=dict)

    def get(self, key: object) -> Mapping[str, int]:
        return self.amounts.get(key, {})

    def add(self, key: object, amounts: Mapping[str, int], times: int = 1) -> None:
        entry = self.amounts.setdefault(key, {})
        add_to(entry, amounts, times)
        if not entry:
            del self.amounts[key]


class TopologyTree:
    """The domains of the nodes that have all `labels` and a label for each of `levels`, coarsest first.

    In a topology of hosts two nodes with one host name are one domain. It lies where the node with the first name is.
    each_node: in other topologies each node is a domain of its own below the lowest level. Assignments do not name it,
    so what workloads hold counts in the domain above it only.
    `foreign` is what pods outside topologies use, by node name. `held` is what workloads hold here, by domain. Who adds
    to them also calls the tree. `listeners` are called with each domain whose own room, node or place changed.
    """

    def __init__(
        self,
        levels: tuple[str, ...],
        labels: Mapping[str, str],
        foreign: Usage,
        held: Usage,
        *,
        each_node: bool = False,
    ) -> None:
        self.levels = levels
        self.labels = labels
        self.by_host = levels[-1] == HOSTNAME
        self.nodes_below = each_node and not self.by_host
        self.listeners: list[Callable[[RoomDomain], None]] = []
        self._foreign = foreign
        self.held = held
        self._roots: list[Domain] = []
        self._inner: dict[tuple[str, ...], Domain] = {}
        self._lowest: dict[DomainId, LowestDomain] = {}
        self._at: dict[str, LowestDomain] = {}
        self._by_level: dict[int, list[Domain]] = {}

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def lowest_level(self) -> int:
        return len(self.levels) - (0 if self.nodes_below else 1)

    @property
    def by_node(self) -> bool:
        """Whether each lowest domain is a node."""
        return self.by_host or self.nodes_below

    @property
    def roots(self) -> list[Domain]:
        return self._roots

    @property
    def size(self) -> int:
        """How many lowest domains there are."""
        return len(self._lowest)

    def has_node(self, name: str) -> bool:
        """Whether the node is of this flavor."""
        return name in self._at

    def at_level(self, level: int) -> list[Domain]:
        """The domains of this level in path order. Do not change the list."""
        found = self._by_level.get(level)
        if found is None:
            above = self.at_level(level - 1) if level else ()
            found = [child for domain in above for child in domain.children] if level else self._roots
            self._by_level[level] = found
        return found

    def lowest(self) -> Iterable[LowestDomain]:
        """All lowest domains, in no special order."""
        return self._lowest.values()

    def find(self, key: DomainId) -> RoomDomain | None:
        """The domain that an assignment names; None if there is none now."""
        found = self._inner.get(key) if self.nodes_below else self._lowest.get(key)
        return found if isinstance(found, RoomDomain) else None

    def with_room(self, key: DomainId) -> RoomDomain | None:
        """The domain that an assignment names, or a node below it."""
        return self.find(key) or self._lowest.get(key)

    def paths(self, domains: Iterable[AssignedDomain]) -> dict[DomainId, tuple[str, ...]]:
        """The values of all levels of these domains, those that are there."""
        found = {domain.values: self.find(domain.values) for domain in domains}
        return {key: lowest.values for key, lowest in found.items() if lowest is not None}

    def holds(self, domain: Domain) -> bool:
        """Whether the domain is in the tree now."""
        if isinstance(domain, LowestDomain):
            return self._lowest.get(domain.id) is domain
        return self._inner.get(domain.values) is domain

    def above(self, domain: Domain, level: int) -> Domain:
        """The domain of this level that the other one lies in."""
        return next((each for each in domain.ancestors() if each.level == level), domain)

    # -- events --------------------------------------------------------------------------------------------------------

    def put(self, node: TopologyNode) -> None:
        """Add or update a node that can take pods."""
        path = self._path(node)
        key = path[-1:] if path and self.by_host else path
        present = self._at.get(node.name)
        if present is not None and present.id != key:
            self.drop(node.name)
        if path is None or key is None:
            return
        domain = self._lowest.get(key) or self._attach(key, path)
        if node.name in domain.nodes:
            self._count(domain, node.name, -1)
        for each in _rooms_of(domain):
            each.nodes[node.name] = node
        self._at[node.name] = domain
        self._count(domain, node.name, 1)
        self._settle(domain)

    def drop(self, name: str) -> None:
        """Remove a node that is gone, or takes no pods."""
        domain = self._at.pop(name, None)
        if domain is not None:
            self._count(domain, name, -1)
            for each in _rooms_of(domain):
                del each.nodes[name]
            self._settle(domain)

    def foreign_changed(self, node: str, amounts: Mapping[str, int], times: int) -> None:
        """Pods outside topologies use that much more of the node: `times` the amounts."""
        domain = self._at.get(node)
        if domain is not None:
            for each in _rooms_of(domain):
                add_to(each.free, amounts, -times)
                add_to(each.remain, amounts, -times)
            self._report(domain)

    def held_changed(self, key: DomainId, amounts: Mapping[str, int], times: int) -> None:
        """Workloads hold that much more in the domain: `times` the amounts."""
        domain = self.find(key)
        if domain is not None:
            add_to(domain.remain, amounts, -times)
            self._report(domain)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _path(self, node: TopologyNode) -> tuple[str, ...] | None:
        """The values of the node's domain; None if the node is not of this flavor."""
        labels = node.labels
        if any(labels.get(key) != value for key, value in self.labels.items()):
            return None
        if any(key not in labels for key in self.levels):
            return None
        return (*(labels[key] for key in self.levels), *((node.name,) if self.nodes_below else ()))

    def _count(self, domain: LowestDomain, name: str, times: int) -> None:
        """Add the node to the room of the domain, or take it out."""
        for each in _rooms_of(domain):
            for total in (each.free, each.remain):
                add_to(total, domain.nodes[name].allocatable, times)
                add_to(total, self._foreign.get(name), -times)

    def _settle(self, domain: LowestDomain) -> None:
        """After a change of its nodes: the domain goes with the last, and lies where the first is."""
        if not domain.nodes:
            self._detach(domain)
        elif self.by_node:
            domain.node = domain.nodes[min(domain.nodes)]
            path = self._path(domain.node)
            if path is not None and path != domain.values:
                self._detach(domain)
                self._report(domain)
                domain = self._moved(domain, path)
        self._report(domain)

    def _moved(self, domain: LowestDomain, path: tuple[str, ...]) -> LowestDomain:
        moved = self._attach(domain.id, path)
        moved.nodes, moved.node, moved.free, moved.remain = domain.nodes, domain.node, domain.free, domain.remain
        self._at.update(dict.fromkeys(moved.nodes, moved))
        return moved

    def _attach(self, key: DomainId, path: tuple[str, ...]) -> LowestDomain:
        """A lowest domain without nodes."""
        parent: Domain | None = None
        for depth in range(1, len(path)):
            values = path[:depth]
            domain = self._inner.get(values)
            if domain is None:
                domain = self._inner[values] = self._above(values, parent)
                self._insert(domain)
            parent = domain
        lowest = self._lowest[key] = LowestDomain(key, path, parent)
        if not self.nodes_below:
            add_to(lowest.remain, self.held.get(key), -1)
        self._insert(lowest)
        return lowest

    def _above(self, values: tuple[str, ...], parent: Domain | None) -> Domain:
        """A domain above others; one that has nodes directly below it has room of its own."""
        if not self.nodes_below or len(values) < len(self.levels):
            return Domain(values, parent)
        named = RoomDomain(values, values, parent)
        add_to(named.remain, self.held.get(values), -1)
        return named

    def _insert(self, domain: Domain) -> None:
        siblings = self._roots if domain.parent is None else domain.parent.children
        insort(siblings, domain, key=_VALUES)
        self._by_level.clear()

    def _detach(self, domain: LowestDomain) -> None:
        del self._lowest[domain.id]
        self._remove(domain)
        for above in domain.ancestors():
            if not above.children:
                del self._inner[above.values]
                self._remove(above)

    def _remove(self, domain: Domain) -> None:
        siblings = self._roots if domain.parent is None else domain.parent.children
        siblings.remove(domain)
        self._by_level.clear()

    def _report(self, domain: RoomDomain) -> None:
        for listener in self.listeners:
            listener(domain)


def _rooms_of(domain: LowestDomain) -> Iterator[RoomDomain]:
    """The domains in whose room a node of this one counts."""
    yield domain
    if isinstance(domain.parent, RoomDomain):
        yield domain.parent
