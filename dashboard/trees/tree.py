"""A tree from the JSON of /v1: the parents and children of nodes, and their amounts of a flavor and resource.

Amounts are only parsed for nodes that are shown, since a tree of 10 000 queues has a hundred thousand amounts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from analysis.trees.walk import cycles_among
from policies.model.quantity import BadQuantity, Quantity
from scheduling.world.readiness import IS_STOPPED

_DIGITS = re.compile(r"([0-9]+)")
_NO_FIELDS: Mapping[str, str] = {}
_QUOTA = {
    "Kueue": ("nominalQuota",),
    "Volcano": ("deserved", "guarantee", "capability"),
    "YuniKorn": ("max", "guaranteed"),
}
"""The fields of a quota, by dialect. The first field that is set counts as the quota of the node."""
USED = ("used", "allocated")
BORROWING = ("Kueue", "Volcano")
"""Dialects whose queues may use more than their quota. The `max` of YuniKorn is a limit."""
_LIMIT = {"Volcano": "capability", "YuniKorn": "max"}
"""The field with the limit of usage, for dialects without borrowing."""


class FlavorPair(NamedTuple):
    """A flavor and a resource; the flavor is empty if the dialect has no flavors."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}" if self.flavor else self.resource

    @staticmethod
    def parse(text: str) -> FlavorPair:
        """The inverse of `str(pair)`. The name of a resource may contain a slash; the name of a flavor may not."""
        flavor, slash, resource = text.partition("/")
        return FlavorPair(flavor, resource) if slash else FlavorPair("", text)


class NodeKey(NamedTuple):
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class PairUsage:
    """The quota and usage of one flavor and resource in a node with its subtree, in nano.

    `quota`: None if there is no quota.
    `own`: the node's fields as written. `below`: the sums of these fields over its descendants.
    `over`: the usage beyond quota and borrowing limit, or beyond the limit of a dialect without borrowing.
    """

    quota: int | None
    used: int
    borrowed: int
    own: Mapping[str, str]
    below: Mapping[str, str]
    over: int = 0

    @property
    def spare(self) -> int:
        return max(0, (self.quota or 0) - self.used)

    @property
    def unbounded(self) -> bool:
        """Whether there is no quota that the usage could be a share of."""
        return self.quota is None and not self.borrowed and not self.over

    @property
    def share(self) -> float:
        """The usage as a share of the quota; above 1 if it exceeds the quota, 0 if there is neither."""
        if not self.quota:
            return 1.0 if self.used > 0 else 0.0
        return self.used / self.quota


NO_USAGE = PairUsage(None, 0, 0, _NO_FIELDS, _NO_FIELDS)


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key for names in natural order: queue-2 before queue-10. Numbers may have any length."""
    parts = _DIGITS.split(name)  # alternating texts and numbers
    return [(0, part) if not turn % 2 else (len(part.lstrip("0")), part.lstrip("0")) for turn, part in enumerate(parts)]


class TreeNode:
    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        self.dialect = str(entry["dialect"])
        self.key = NodeKey(str(entry["kind"]), str(entry["name"]))
        parent = entry.get("parent")
        self.above = NodeKey("Cohort" if self.dialect == "Kueue" else "Queue", str(parent)) if parent else None
        """The key of its parent, which may not exist; None for a root."""

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def exists(self) -> bool:
        """Whether the node has an object. False for an implicit Cohort."""
        return self.entry.get("exists") is not False

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of Workloads, PodGroups or applications, by state."""
        return self.entry.get("workloads") or self.entry.get("podGroups") or self.entry.get("applications") or {}

    @property
    def waiting(self) -> int:
        return self._count("pending", "waiting")

    @property
    def admitted(self) -> int:
        """The number of admitted Workloads, or of running PodGroups or applications."""
        return self._count("admitted", "running")

    def _count(self, *states: str) -> int:
        return sum(count for state, count in self.counts.items() if count and state.lower() in states)

    @property
    def stopped(self) -> str:
        """Why the node admits nothing; empty if it admits work or the reason is unknown."""
        state = str(self.entry.get("state") or "Open")
        inactive = str(self.entry.get("inactive") or "")
        return inactive or (f"The Queue is {state.lower()}." if self.dialect == "Volcano" and state != "Open" else "")

    @property
    def faulty(self) -> bool:
        """Whether the node admits nothing because of a fault, and not because somebody stopped it."""
        return self.dialect == "Kueue" and bool(self.stopped) and not self.stopped.rstrip(".").endswith(IS_STOPPED)

    @property
    def oldest(self) -> str:
        """The time since which the oldest pending workload waits, in RFC 3339; empty if it is unknown."""
        return str(self.entry.get("oldestPending") or "")

    @cached_property
    def pairs(self) -> tuple[FlavorPair, ...]:
        return tuple(FlavorPair(row["flavor"], row["resource"]) for row in self.entry["quota"])

    def has(self, pair: FlavorPair) -> bool:
        """Whether the node or a descendant has quota or usage of the pair."""
        return any((row["flavor"], row["resource"]) == pair for row in self.entry["quota"])

    def amounts(self, pair: FlavorPair) -> PairUsage:
        for row in self.entry["quota"]:
            if (row["flavor"], row["resource"]) == pair:
                return _amounts(self.dialect, row["own"], row["children"])
        return NO_USAGE


def _amounts(dialect: str, own: Mapping[str, str], below: Mapping[str, str]) -> PairUsage:
    quota = next((own[field] for field in _QUOTA[dialect] if field in own), None)
    total = None if quota is None else nano_of(quota)
    if dialect == "Kueue" and "nominalQuota" in below:  # a Cohort's own quota adds to that of its descendants
        total = (total or 0) + nano_of(below["nominalQuota"])
    used = next((nano_of(own[field]) for field in USED if field in own), 0)
    beyond = max(0, used - total) if total is not None and dialect in BORROWING else 0
    borrowed = nano_of(own["borrowed"]) if "borrowed" in own else beyond
    limit = nano_of(own.get(_LIMIT.get(dialect, ""), ""))
    over = nano_of(own["over"]) if "over" in own else max(0, used - limit) if limit else 0
    return PairUsage(total, used, borrowed, own, below, over)


def nano_of(text: str) -> int:
    """The amount in nano; 0 if the text is not an amount, such as a percentage."""
    try:
        return Quantity.parse(text).nano
    except BadQuantity:
        return 0


class DialectTree:
    """The nodes of one dialect. A node counts as a root if its parent does not exist or if it is on a cycle.

    Children are in the natural order of their names.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.nodes = {node.key: node for node in map(TreeNode, answer["nodes"])}
        parents = {key: node.above for key, node in self.nodes.items()}
        self.on_cycles = frozenset(chain.from_iterable(cycles_among(parents)))
        self._children: dict[NodeKey | None, list[TreeNode]] = {}
        self._borrowed: dict[tuple[NodeKey, FlavorPair], int] = {}
        for node in self.nodes.values():
            parent = self.parent(node)
            self._children.setdefault(parent.key if parent else None, []).append(node)
        for children in self._children.values():
            children.sort(key=lambda node: (natural(node.name), node.key))

    def parent(self, node: TreeNode) -> TreeNode | None:
        above = None if node.key in self.on_cycles else node.above
        return self.nodes.get(above) if above else None

    def children(self, node: TreeNode | None) -> Sequence[TreeNode]:
        """The children of a node; the roots if `node` is None."""
        return self._children.get(node.key if node else None, ())

    def borrowed_below(self, node: TreeNode, pair: FlavorPair) -> int:
        """The sum of its children's borrowing, in nano. It is cached, since it is needed for each child."""
        at = node.key, pair
        if at not in self._borrowed:
            self._borrowed[at] = sum(child.amounts(pair).borrowed for child in self.children(node))
        return self._borrowed[at]

    def path(self, node: TreeNode) -> list[TreeNode]:
        found = [node]
        while (parent := self.parent(found[-1])) is not None:
            found.append(parent)
        return found[::-1]

    def walk(self, top: TreeNode | None) -> Iterator[tuple[int, TreeNode]]:
        """`top` and its descendants with their depth, parents first; all nodes if `top` is None."""
        heap = [(0, top)] if top else [(0, each) for each in reversed(self.children(None))]
        while heap:
            depth, node = heap.pop()
            yield depth, node
            heap += ((depth + 1, child) for child in reversed(self.children(node)))

    @cached_property
    def pairs(self) -> list[FlavorPair]:
        """All pairs, the one that most nodes have first."""
        counts = Counter(pair for node in self.nodes.values() for pair in node.pairs)
        return sorted(counts, key=lambda pair: (-counts[pair], pair))


def lent(tree: DialectTree, node: TreeNode, pair: FlavorPair) -> int:
    """The amount that the node may have lent to its siblings at most, in nano.

    Borrowed quota comes from the Cohort's own quota, from its ancestors, or from siblings. Kueue does not record from
    which sibling. Therefore each sibling may have lent all of the remaining amount, up to its unused quota.
    """
    parent = tree.parent(node)
    if parent is None or node.dialect != "Kueue":
        return 0
    above = parent.amounts(pair)
    own = nano_of(above.own["nominalQuota"]) if "nominalQuota" in above.own else 0
    return min(node.amounts(pair).spare, max(0, tree.borrowed_below(parent, pair) - above.borrowed - own))


STATES = ("idle", "used", "full", "borrowing", "over", "stopped", "inactive")
"""The states of nodes, best first. `full`: no quota is free and work waits. `stopped`: a user stopped it. `inactive`:
it has a fault."""


def state_of(tree: DialectTree, node: TreeNode, amounts: PairUsage) -> str:
    if node.faulty or node.key in tree.on_cycles:
        return "inactive"
    if node.stopped:
        return "stopped"
    if amounts.over:
        return "over"
    if amounts.borrowed:
        return "borrowing"
    if amounts.quota and amounts.used >= amounts.quota and node.waiting:
        return "full"
    return "used" if amounts.used else "idle"


def total(nodes: Iterable[TreeNode], pair: FlavorPair) -> PairUsage:
    each = [node.amounts(pair) for node in nodes]
    quotas = [amounts.quota for amounts in each if amounts.quota is not None]
    return PairUsage(
        sum(quotas) if quotas else None,
        sum(amounts.used for amounts in each),
        sum(amounts.borrowed for amounts in each),
        _NO_FIELDS,
        _NO_FIELDS,
        sum(amounts.over for amounts in each),
    )
