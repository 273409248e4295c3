"""Fair sharing: a tournament up the tree decides whose head is next.

At every Cohort each child offers its best head, and the child that would have borrowed least once that head were
admitted wins. After each decision only the way of the winner is judged anew: elsewhere no share has changed.
Source: Kueue v0.19, pkg/scheduler/fair_sharing_iterator.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

from scheduling.cycle.nominee import Nominee
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Share, Shares, borrows_on
from scheduling.quota.tree import QuotaTree

Rank: TypeAlias = tuple[bool, bool, tuple[bool, Fraction], tuple[int, int, str]]
"""Smaller is better."""


def rank(nominee: Nominee, borrows: bool, share: Share) -> Rank:
    """How well a head stands at a Cohort: preemptors first, then whoever does not borrow on what it asks for.

    `borrows` and `share` are those of the Cohort's child that it comes from, were it admitted.
    """
    return not nominee.preemptor, borrows, share.rank, nominee.seniority


def tournament(nominees: Iterable[Nominee], tree: QuotaTree) -> Iterator[Nominee]:
    """One after another; the caller changes usage on the way of the one it got before it asks for the next.

    Trees come by the name of their root.
    """
    by_root: dict[QuotaNode, list[Nominee]] = {}
    for nominee in nominees:
        by_root.setdefault(nominee.queue.node.root, []).append(nominee)
    for root in sorted(by_root, key=lambda node: (node.is_queue, node.name)):
        yield from _Bracket(tree, root, by_root[root])


class _Bracket:
    """The tournament of one tree. `heaps` are the offers of the children of each Cohort, the best first."""

    def __init__(self, tree: QuotaTree, root: QuotaNode, nominees: list[Nominee]) -> None:
        self.tree = tree
        self.root = root
        self.shares = Shares()
        self.heads: dict[QuotaNode, list[Nominee]] = {}
        self.heaps: dict[QuotaNode, list[tuple[Rank, int, QuotaNode]]] = {}
        self.round = 0
        for nominee in sorted(nominees, key=lambda nominee: nominee.seniority, reverse=True):
            self.heads.setdefault(nominee.queue.node, []).append(nominee)
        for node in sorted(self._above(), key=lambda node: -len(node.path())):
            self._offer(node)

    def __iter__(self) -> Iterator[Nominee]:
        while (winner := self._best(self.root)) is not None:
            node = winner.queue.node
            self.heads[node].pop()
            yield winner
            self._replay(node)

    def _above(self) -> set[QuotaNode]:
        """The queues that have heads and all Cohorts above them."""
        return {node for queue in self.heads for node in queue.path()}

    def _best(self, node: QuotaNode) -> Nominee | None:
        while not node.is_queue:
            offers = self.heaps.get(node)
            if not offers:
                return None
            node = offers[0][2]
        return self.heads[node][-1] if self.heads.get(node) else None

    def _offer(self, child: QuotaNode) -> None:
        """Enter the child's best head at the Cohort above it."""
        best = self._best(child)
        if best is None or child.up is None:
            return
        self.round += 1
        heapq.heappush(self.heaps.setdefault(child.up, []), (self._rank(best, child), self.round, child))

    def _replay(self, queue: QuotaNode) -> None:
        """The winner is gone and its usage may count now: every offer on its way is made anew."""
        for child in queue.path():
            if child.up is not None:
                offers = self.heaps[child.up]
                heapq.heappop(offers)  # on the winner's way each child was the best of its Cohort
                self._offer(child)

    def _rank(self, nominee: Nominee, child: QuotaNode) -> Rank:
        usage = nominee.assignment.usage
        with self.tree.simulation():
            self.tree.add(nominee.queue.node, usage)
            return rank(nominee, borrows_on(child, usage), self.shares.of(child))
