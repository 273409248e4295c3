"""Fair sharing: a tournament in the tree decides which head is next.

Each child of a Cohort offers its best head. The child with the lowest share, with its head counted as admitted, wins.
After a decision only the winner's path is compared again, since no other shares have changed.
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
"""A rank. The lowest one wins."""


def rank(nomination: Nomination, borrows: bool, share: DominantShare) -> Rank:
    """The rank of a head at a Cohort: preemptors first, then heads that need not borrow.

    borrows, share: of the child of the Cohort that offers the head, with the head counted as admitted.
    """
    return not nomination.goes_first, borrows, share.rank, nomination.seniority


def tournament(nominations: Iterable[Nomination], tree: QuotaTree) -> Iterator[Nomination]:
    """Yield one head after another. Before the caller takes the next, it updates the usage on the path of the last.

    Trees are sorted by the names of their roots.
    """
    by_root: dict[QuotaNode, list[Nomination]] = {}
    for nomination in nominations:
        by_root.setdefault(nomination.queue.node.root, []).append(nomination)
    for root in sorted(by_root, key=lambda node: (node.is_queue, node.name)):
        yield from _Bracket(tree, root, by_root[root])


class _Bracket:
    """The tournament of a tree.

    heaps: by Cohort, the offers of its children, the best first.
    """

    def __init__(self, tree: QuotaTree, root: QuotaNode, nominations: list[Nomination]) -> None:
        self.tree = tree
        self.root = root
        self.shares = Shares()
        self.heads: dict[QuotaNode, list[Nomination]] = {}
        self.heaps: dict[QuotaNode, list[tuple[Rank, int, QuotaNode]]] = {}
        self.round = 0
        for nomination in sorted(nominations, key=lambda nomination: nomination.seniority, reverse=True):
            self.heads.setdefault(nomination.queue.node, []).append(nomination)
        above = {node for queue in self.heads for node in queue.path()}
        for node in sorted(above, key=lambda node: -len(node.path())):
            self._offer(node)

    def __iter__(self) -> Iterator[Nomination]:
        while (winner := self._best(self.root)) is not None:
            node = winner.queue.node
            self.heads[node].pop()
            yield winner
            self._replay(node)

    def _best(self, node: QuotaNode) -> Nomination | None:
        while not node.is_queue:
            offers = self.heaps.get(node)
            if not offers:
                return None
            node = offers[0][2]
        return self.heads[node][-1] if self.heads.get(node) else None

    def _offer(self, child: QuotaNode) -> None:
        """Offer the child's best head to its parent."""
        best = self._best(child)
        if best is None or child.up is None:
            return
        self.round += 1
        heapq.heappush(self.heaps.setdefault(child.up, []), (self._rank(best, child), self.round, child))

    def _replay(self, queue: QuotaNode) -> None:
        """Renew all offers on the path of the winner: its head is gone, and its usage may count now."""
        for child in queue.path():
            if child.up is not None:
                offers = self.heaps[child.up]
                heapq.heappop(offers)  # each child on the winner's path was the best of its Cohort
                self._offer(child)

    def _rank(self, nomination: Nomination, child: QuotaNode) -> Rank:
        usage = nomination.assignment.usage
        with self.tree.simulation():
            self.tree.add(nomination.queue.node, usage)
            return rank(nomination, borrows_on(child, usage), self.shares.of(child))
