"""Fair sharing: a tournament up the tree decides which head is next.

At every Cohort each child offers its best head. The child that would have the lowest share with its head admitted wins.
After each decision only the winner's path is compared again: no other share has changed.
Source: Kueue v0.19, pkg/scheduler/fair_sharing_iterator.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

from scheduling.cycle.nomination import Nomination
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import DominantShare, Shares, borrows_on
from scheduling.quota.tree import QuotaTree

Rank: TypeAlias = tuple[bool, bool, tuple[bool, Fraction], tuple[int, int, str]]
"""Smaller is better."""


def rank(nomination: Nomination, borrows: bool, share: DominantShare) -> Rank:
    """The rank of a head at a Cohort: preemptors first, then those that do not borrow what they request.

    `borrows` and `share` are those of the Cohort's child that the head comes from, with the head admitted.
    """
    return not nomination.preemptor, borrows, share.rank, nomination.seniority


def tournament(nominations: Iterable[Nomination], tree: QuotaTree) -> Iterator[Nomination]:
    """Yields one head after another. Before it takes the next, the caller updates usage on the path of the last one.

    Trees come in the order of their roots' names.
    """
    by_root: dict[QuotaNode, list[Nomination]] = {}
    for nomination in nominations:
        by_root.setdefault(nomination.queue.node.root, []).append(nomination)
    for root in sorted(by_root, key=lambda node: (node.is_queue, node.name)):
        yield from _Bracket(tree, root, by_root[root])


class _Bracket:
    """The tournament of one tree. `heaps` has the offers of each Cohort's children, the best first."""

    def __init__(self, tree: QuotaTree, root: QuotaNode, nominations: list[Nomination]) -> None:
        self.tree = tree
        self.root = root
        self.shares = Shares()
        self.heads: dict[QuotaNode, list[Nomination]] = {}
        self.heaps: dict[QuotaNode, list[tuple[Rank, int, QuotaNode]]] = {}
        self.round = 0
        for nomination in sorted(nominations, key=lambda nomination: nomination.seniority, reverse=True):
            self.heads.setdefault(nomination.queue.node, []).append(nomination)
        for node in sorted(self._above(), key=lambda node: -len(node.path())):
            self._offer(node)

    def __iter__(self) -> Iterator[Nomination]:
        while (winner := self._best(self.root)) is not None:
            node = winner.queue.node
            self.heads[node].pop()
            yield winner
            self._replay(node)

    def _above(self) -> set[QuotaNode]:
        """The queues with heads, and all Cohorts above them."""
        return {node for queue in self.heads for node in queue.path()}

    def _best(self, node: QuotaNode) -> Nomination | None:
        while not node.is_queue:
            offers = self.heaps.get(node)
            if not offers:
                return None
            node = offers[0][2]
        return self.heads[node][-1] if self.heads.get(node) else None

    def _offer(self, child: QuotaNode) -> None:
        """Offer the child's best head to the Cohort above it."""
        best = self._best(child)
        if best is None or child.up is None:
            return
        self.round += 1
        heapq.heappush(self.heaps.setdefault(child.up, []), (self._rank(best, child), self.round, child))

    def _replay(self, queue: QuotaNode) -> None:
        """The winner is gone and its usage may count now: renew every offer on its path."""
        for child in queue.path():
            if child.up is not None:
                offers = self.heaps[child.up]
                heapq.heappop(offers)  # on the winner's path each child was the best of its Cohort
                self._offer(child)

    def _rank(self, nomination: Nomination, child: QuotaNode) -> Rank:
        usage = nomination.assignment.usage
        with self.tree.simulation():
            self.tree.add(nomination.queue.node, usage)
            return rank(nomination, borrows_on(child, usage), self.shares.of(child))
