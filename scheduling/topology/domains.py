"""The domains of a flavor's topology as a tree. A change of a node, pod or workload costs the depth of the tree.

Path order sorts domains by their values, level by level, by code point. Lists are kept in path order, so that a stable
sort by room leaves equal domains in it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from scheduling.objects.amounts import add_to
from scheduling.topology.assignment import HOSTNAME, AssignedDomain, DomainId
from scheduling.topology.node_filter import TopologyNode

_VALUES = attrgetter("values")


class Domain:
    """A domain. `values`: its path from the highest level down to its own. `level`: the number of its level, from 0."""

    __slots__ = ("children", "level", "parent", "values")

    def __init__(self, values: tuple[str, ...], parent: Domain | None) -> None:
        self.values = values
        self.level = len(values) - 1
        self.parent = parent
        self.children: list[Domain] = []

    def is_within(self, above: Domain) -> bool:
        """Whether it is the domain `above` or a descendant of it."""
        return self.values[: above.level + 1] == above.values

    def ancestors(self) -> Iterator[Domain]:
        """Its ancestors, from its parent up."""
        above = self.parent
        while above is not None:
            yield above
            above = above.parent


class RoomDomain(Domain):
    """A domain with its room by resource, in base units. Assignments name those of the lowest level of a Topology.

    free: the amounts of its nodes minus pods outside of topologies. May be negative.
    remain: `free` minus the amounts that workloads use in topologies. May be negative.
    """

    __slots__ = ("free", "id", "nodes", "remain")

    def __init__(self, key: DomainId, values: tuple[str, ...], parent: Domain | None) -> None:
        super().__init__(values, parent)
        self.id = key
        self.nodes: dict[str, TopologyNode] = {}
        self.free: dict[str, int] = {}
        self.remain: dict[str, int] = {}


class LowestDomain(RoomDomain):
    """A domain without children. `node`: if the domain is a host, the node whose labels and taints count."""

    __slots__ = ("node",)

    node: TopologyNode


@dataclass(slots=True)
class Usage:
    """Amounts by key and resource. Zero amounts are not stored."""

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

    In a topology of hosts, two nodes with the same host name are one domain, with the path of the node whose name sorts
    first.

    each_node: in a topology without hosts, each node is a further domain below the lowest level. Assignments do not
        name it, so the usage of workloads counts only in its parent.
    foreign: the usage of pods outside of topologies, by node name.
    held: the usage of workloads in topologies, by domain. A caller that changes `foreign` or `held` also calls
        `foreign_changed` or `held_changed`.
    listeners: called with each domain whose room, node or path changed.
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
        self._roots: list[Domain] = []  # domains of the highest level
        self._inner: dict[tuple[str, ...], Domain] = {}  # domains with children, by path
        self._lowest: dict[DomainId, LowestDomain] = {}  # lowest domains by the key that assignments use
        self._at: dict[str, LowestDomain] = {}  # the lowest domain of each node
        self._by_level: dict[int, list[Domain]] = {}  # domains of each level in path order

    # -- questions -----------------------------------------------------------------------------------------------------

    @property
    def lowest_level(self) -> int:
        return len(self.levels) - (0 if self.nodes_below else 1)

    @property
    def by_node(self) -> bool:
        """Whether each lowest domain is a single node."""
        return self.by_host or self.nodes_below

    @property
    def roots(self) -> list[Domain]:
        return self._roots

    @property
    def size(self) -> int:
        """The number of lowest domains."""
        return len(self._lowest)

    def has_node(self, name: str) -> bool:
        """Whether the node belongs to this flavor."""
        return name in self._at

    def at_level(self, level: int) -> list[Domain]:
        """The domains of this level in path order. The caller must not change the list."""
        found = self._by_level.get(level)
        if found is None:
            above = self.at_level(level - 1) if level else ()
            found = [child for domain in above for child in domain.children] if level else self._roots
            self._by_level[level] = found
        return found

    def lowest(self) -> Iterable[LowestDomain]:
        """All lowest domains, not sorted."""
        return self._lowest.values()

    def find(self, key: DomainId) -> RoomDomain | None:
        """The domain that an assignment names; None if it does not exist now."""
        found = self._inner.get(key) if self.nodes_below else self._lowest.get(key)
        return found if isinstance(found, RoomDomain) else None

    def with_room(self, key: DomainId) -> RoomDomain | None:
        """The domain that an assignment names, or a node below it."""
        return self.find(key) or self._lowest.get(key)

    def paths(self, domains: Iterable[AssignedDomain]) -> dict[DomainId, tuple[str, ...]]:
        """The paths of those of these domains that exist."""
        found = {domain.values: self.find(domain.values) for domain in domains}
        return {key: lowest.values for key, lowest in found.items() if lowest is not None}

    def holds(self, domain: Domain) -> bool:
        if isinstance(domain, LowestDomain):
            return self._lowest.get(domain.id) is domain
        return self._inner.get(domain.values) is domain

    def above(self, domain: Domain, level: int) -> Domain:
        """The ancestor of the domain at this level, or the domain itself."""
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
        """Remove a node that was deleted, or takes no pods."""
        domain = self._at.pop(name, None)
        if domain is not None:
            self._count(domain, name, -1)
            for each in _rooms_of(domain):
                del each.nodes[name]
            self._settle(domain)

    def foreign_changed(self, node: str, amounts: Mapping[str, int], times: int) -> None:
        """Add `times` the amounts to the usage of pods outside of topologies on the node."""
        domain = self._at.get(node)
        if domain is not None:
            for each in _rooms_of(domain):
                add_to(each.free, amounts, -times)
                add_to(each.remain, amounts, -times)
            self._report(domain)

    def held_changed(self, key: DomainId, amounts: Mapping[str, int], times: int) -> None:
        """Add `times` the amounts to the usage of workloads in the domain."""
        domain = self.find(key)
        if domain is not None:
            add_to(domain.remain, amounts, -times)
            self._report(domain)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _path(self, node: TopologyNode) -> tuple[str, ...] | None:
        """The path of the node's domain; None if the node does not belong to this flavor."""
        labels = node.labels
        if any(labels.get(key) != value for key, value in self.labels.items()):
            return None
        if any(key not in labels for key in self.levels):
            return None
        return (*(labels[key] for key in self.levels), *((node.name,) if self.nodes_below else ()))

    def _count(self, domain: LowestDomain, name: str, times: int) -> None:
        """Add the node to the room of the domain; with `times` -1, remove it."""
        for each in _rooms_of(domain):
            for total in (each.free, each.remain):
                add_to(total, domain.nodes[name].allocatable, times)
                add_to(total, self._foreign.get(name), -times)

    def _settle(self, domain: LowestDomain) -> None:
        """Update a domain after a change of its nodes: remove it, or move it to the path of its first node."""
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
        """Add a lowest domain without nodes, and its ancestors."""
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
        """Make a domain with children. It has room of its own if its children are nodes."""
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
    """The domains in whose room a node of the domain counts."""
    yield domain
    if isinstance(domain.parent, RoomDomain):
        yield domain.parent


def level_word(level: str) -> str:
    """The last word of a node label: `rack` for `example.com/rack` and for `cloud.example.com/topology-rack`."""
    return "host" if level == HOSTNAME else level.rpartition("/")[2].rpartition("topology-")[2]


def domain_name(levels: Sequence[str], values: Sequence[str], *, whole: bool = True) -> str:
    """The name of the domain with these values, coarsest first.

    whole: whether the name has the ancestors of the domain. A host is named without them, since its name is unique.
    """
    words = [f"{level_word(level)} {value}" for level, value in zip(levels, values, strict=False)]
    if not whole or levels[len(words) - 1] == HOSTNAME:
        return words[-1]
    return " of ".join(reversed(words))
