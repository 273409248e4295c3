"""Finds the important parts of a tree: queues with pending work, borrowers and their lenders, and unused quota."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dashboard.trees.tree import NO_USAGE, USED, DialectTree, FlavorPair, NodeKey, PairUsage, TreeNode, lent

MOST = 3
"""The maximum number of borrowers, and of nodes with unused quota, that are shown."""
BUSIEST = 10
"""The maximum number of trees that are shown."""
_LENDERS = 3


@dataclass(frozen=True, slots=True)
class RootLoad:
    """One tree: its root, the pending work of all its nodes, and its most used pair.

    `pair`, `amounts`: None if the tree has no quota.
    """

    root: TreeNode
    pending: int
    pair: FlavorPair | None
    amounts: PairUsage | None


@dataclass(frozen=True, slots=True)
class Borrower:
    """A node that uses more of a pair than its quota.

    `lenders`: the siblings that may have lent it most, largest amount first. `other_lenders`: the number of further
    siblings that may have lent.
    """

    node: TreeNode
    pair: FlavorPair
    amounts: PairUsage
    lenders: tuple[TreeNode, ...]
    other_lenders: int


class TreeTotals(NamedTuple):
    queues: int
    pending: int
    admitted: int


@dataclass(frozen=True, slots=True)
class OverLimit:
    """A node that uses more of a pair than its limits allow, for example because a limit was lowered."""

    node: TreeNode
    pair: FlavorPair
    amounts: PairUsage


@dataclass(frozen=True, slots=True)
class UnusedQuota:
    """A node that uses none of its quota of a pair while `pending` workloads wait for this pair in its tree."""

    node: TreeNode
    pair: FlavorPair
    amounts: PairUsage
    pending: int


class ContendedTree(DialectTree):
    """A tree with its important parts. Each is computed only once, since a tree may have 10 000 queues."""

    @cached_property
    def busiest(self) -> list[RootLoad]:
        """The trees with the most pending work first, then those that use the largest share of their quota."""
        pending = self._pending_by_root()

        def load(root: TreeNode) -> tuple[int, float]:
            return sum(node.waiting for node in pending.get(root.key, ())), _share(root)

        return [
            _load(root, pending.get(root.key, []))
            for root in heapq.nlargest(
                BUSIEST, (each for each in self.children(None) if each.key not in self.on_cycles), key=load
            )
        ]

    @cached_property
    def totals(self) -> TreeTotals:
        queues = [node for node in self.nodes.values() if self._has_work(node)]
        return TreeTotals(len(queues), sum(node.waiting for node in queues), sum(node.admitted for node in queues))

    @cached_property
    def sizes(self) -> Mapping[NodeKey, int]:
        found = dict.fromkeys(self.nodes, 0)
        for _, node in reversed(list(self.walk(None))):  # children first
            if (parent := self.parent(node)) is not None:
                found[parent.key] += found[node.key] + 1
        return found

    @cached_property
    def over(self) -> list[OverLimit]:
        """All nodes and pairs over a limit, the largest excess relative to the quota first."""
        found = ((node, pair, node.amounts(pair)) for node in self.nodes.values() for pair in _in_use(node))
        every = [OverLimit(*each) for each in found if each[2].over]
        return sorted(
            every, key=lambda each: (-each.amounts.over / (each.amounts.quota or 1), each.node.key, each.pair)
        )

    def most_used(self, top: TreeNode | None) -> FlavorPair | None:
        """The pair with the largest used share at `top`, or in the busiest tree if `top` is None.

        None if nothing is used.
        """
        load = _load(top, []) if top is not None else next(iter(self.busiest), None)
        return load.pair if load is not None and load.amounts is not None and load.amounts.used else None

    @cached_property
    def waiting(self) -> list[TreeNode]:
        """The queues with pending work, the most pending first."""
        found = (node for node in self.nodes.values() if node.waiting and self._has_work(node))
        return sorted(found, key=lambda node: (-node.waiting, node.key))

    @cached_property
    def borrowers(self) -> list[Borrower]:
        """The largest borrowers, by the borrowed share of their quota, with their lenders."""
        largest = heapq.nlargest(MOST, self.borrowing, key=lambda each: (_share_beyond(each[2]), each[0].key))
        return [Borrower(node, pair, amounts, *self._lenders(node, pair)) for node, pair, amounts in largest]

    @cached_property
    def borrowing(self) -> list[tuple[TreeNode, FlavorPair, PairUsage]]:
        """The nodes that borrow in trees with pending work, without nodes that are over a limit."""
        found = (
            (node, pair, node.amounts(pair))
            for node in self._below_pending_roots()
            if self._has_work(node)
            for pair in _borrowed(node)
        )
        return [each for each in found if not each[2].over]

    @cached_property
    def unused(self) -> list[UnusedQuota]:
        """All unused quota in trees with pending work, the largest share of the root's quota first.

        Work at stopped queues does not count as pending here. In each tree, only one pair counts: the most used one of
        those at queues with pending work.
        """
        found: list[tuple[float, NodeKey, UnusedQuota]] = []
        for root, queues in self._waiting_by_root():
            waiting = [queue for queue in queues if not queue.stopped]
            wanted = {pair: root.amounts(pair) for pair in {pair for queue in waiting for pair in queue.pairs}}
            pair = max(sorted(wanted), key=lambda each: wanted[each].share, default=None)
            if pair is None or not (whole := wanted[pair].quota):
                continue
            pending = sum(queue.waiting for queue in waiting if pair in queue.pairs)
            for _, node in self.walk(root):
                amounts = node.amounts(pair) if self._has_work(node) and not node.waiting else NO_USAGE
                if amounts.quota and not amounts.used:
                    found.append((amounts.quota / whole, node.key, UnusedQuota(node, pair, amounts, pending)))
        return [each for *_, each in sorted(found, key=lambda each: each[:2], reverse=True)]

    def _has_work(self, node: TreeNode) -> bool:
        """Whether the node itself takes work. The counts of other nodes are sums over their descendants."""
        return node.key.kind != "Cohort" and not self.children(node)

    def _lenders(self, node: TreeNode, pair: FlavorPair) -> tuple[tuple[TreeNode, ...], int]:
        """The siblings that may have lent most, and the number of the others that may have lent."""
        siblings = self.children(self.parent(node)) if self.parent(node) else ()
        lending = ((lent(self, each, pair), each.key, each) for each in siblings if each is not node)
        lenders = [each for each in lending if each[0] > 0]
        most = _LENDERS + 1 if len(lenders) == _LENDERS + 1 else _LENDERS  # show the last name instead of "1 more"
        first = tuple(each for *_, each in heapq.nlargest(most, lenders))
        return first, len(lenders) - len(first)

    def _root(self, node: TreeNode) -> TreeNode:
        while (parent := self.parent(node)) is not None:
            node = parent
        return node

    def _pending_by_root(self) -> Mapping[NodeKey, list[TreeNode]]:
        found: dict[NodeKey, list[TreeNode]] = {}
        for node in self.waiting:
            found.setdefault(self._root(node).key, []).append(node)
        return found

    def _waiting_by_root(self) -> Iterable[tuple[TreeNode, list[TreeNode]]]:
        return ((self.nodes[key], waiting) for key, waiting in self._pending_by_root().items())

    def _below_pending_roots(self) -> Iterator[TreeNode]:
        for root, _ in self._waiting_by_root():
            yield from (node for _, node in self.walk(root))


def _borrowed(node: TreeNode) -> Iterator[FlavorPair]:
    """The pairs that the node borrows. The amounts of other pairs need not be parsed."""
    return (FlavorPair(row["flavor"], row["resource"]) for row in node.entry["quota"] if "borrowed" in row["own"])


def _in_use(node: TreeNode) -> Iterator[FlavorPair]:
    """The pairs that may be over a limit, which Kueue's nodes report. The amounts of other pairs need not be parsed."""
    for row in node.entry["quota"]:
        own = row["own"]
        if "over" in own if node.dialect == "Kueue" else any(own.get(used, "0") != "0" for used in USED):
            yield FlavorPair(row["flavor"], row["resource"])


def _share_beyond(amounts: PairUsage) -> float:
    return amounts.borrowed / amounts.quota if amounts.quota else float("inf")


def _share(node: TreeNode) -> float:
    """The largest used share of the node's pairs. Amounts of unused pairs are not parsed, since trees have many."""
    used = (row for row in node.entry["quota"] if row["own"].get("used", "0") != "0")
    return max((node.amounts(FlavorPair(row["flavor"], row["resource"])).share for row in used), default=0.0)


def _load(root: TreeNode, waiting: list[TreeNode]) -> RootLoad:
    pair = max(root.pairs, key=lambda each: root.amounts(each).share, default=None)
    amounts = root.amounts(pair) if pair is not None else None
    return RootLoad(root, sum(node.waiting for node in waiting), pair, amounts)
