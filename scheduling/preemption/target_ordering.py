"""Chooses the ClusterQueue of the next victim under fair sharing: from the root down by the highest weighted share.

Shares only fall while victims are removed, so earlier results are upper bounds. Each Cohort has a heap, of which only
the top is recomputed. So the next child is found without computing the shares of all children.
Source: Kueue v0.19, pkg/scheduler/preemption/fairsharing/ordering.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from scheduling.preemption.candidates import CandidatePrecedence, OrderKey
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Shares
from scheduling.quota.state import Reservation

_Key: TypeAlias = tuple[object, ...]


class _Candidates:
    """The candidates of a ClusterQueue. The next one is already read."""

    def __init__(self, candidates: Iterator[Reservation]) -> None:
        self._rest = candidates
        self.first = next(candidates, None)

    def pop(self) -> Reservation:
        """Remove and return the next candidate. Raises IndexError if none is left."""
        if self.first is None:
            raise IndexError("no candidate is left")
        first, self.first = self.first, next(self._rest, None)
        return first

    def clear(self) -> list[Reservation]:
        left = [self.first, *self._rest] if self.first is not None else []
        self._rest, self.first = iter(()), None
        return [each for each in left if each is not None]


class TargetOrdering:
    """The candidates of a search, by ClusterQueue and in the order of preemption.

    own: the preemptor's ClusterQueue, which may be picked even if it does not borrow.
    """

    def __init__(
        self,
        own: QuotaNode,
        candidates: Mapping[QuotaNode, Iterator[Reservation]],
        shares: Shares,
        precedence: CandidatePrecedence,
    ) -> None:
        self._own = own
        self._path = own.path()
        self._shares = shares
        self._order = precedence.order
        self._candidates = {node: _Candidates(listed) for node, listed in candidates.items()}
        # by Cohort: keys of its children, which may be outdated
        self._heaps: dict[QuotaNode, list[tuple[_Key, QuotaNode]]] = {}
        for node, listed in self._candidates.items():
            if listed.first is not None:
                self._enter(node)

    def pick(self) -> QuotaNode | None:
        """The ClusterQueue of the next victim, which has a candidate to `pop`; None if no borrower is left."""
        root = self._path[-1]
        if root is self._own:
            return root if self.has_more(root) else None
        here = root
        while True:
            child = self._highest(here)
            if child is None and here is root:
                return None
            if child is not None and child.is_queue:
                return child
            here = child or root

    def has_more(self, node: QuotaNode) -> bool:
        candidates = self._candidates.get(node)
        return candidates is not None and candidates.first is not None

    def pop(self, node: QuotaNode) -> Reservation:
        return self._candidates[node].pop()

    def drop(self, node: QuotaNode) -> list[Reservation]:
        """Do not pick the ClusterQueue again. Returns its remaining candidates."""
        return self._candidates[node].clear()

    def _enter(self, node: QuotaNode) -> None:
        """Make the node and its ancestors reachable from the root."""
        while node.up is not None:
            known = node.up in self._heaps
            heapq.heappush(self._heaps.setdefault(node.up, []), (_before_all(node), node))
            if known:
                return
            node = node.up

    def _highest(self, cohort: QuotaNode) -> QuotaNode | None:
        heap = self._heaps.get(cohort, [])
        while heap:
            before, child = heap[0]
            key = self._key(child)
            if key is None:
                heapq.heappop(heap)
                continue
            if key != before:
                heapq.heapreplace(heap, (key, child))
            if heap[0][1] is child:
                return child
        return None

    def _key(self, node: QuotaNode) -> _Key | None:
        """The sort key: highest share first, then Cohorts. None if nothing below the node can ever be preempted."""
        candidates = self._candidates.get(node)
        first = candidates.first if candidates is not None else None
        if first is None and not self._heaps.get(node):
            return None
        share = self._shares.of(node)
        if not share.borrowing and node not in self._path:
            return None
        infinite, ratio = share.rank
        tie: OrderKey = (node.name,) if first is None else self._order(first, self._own.name)
        return (not infinite, -ratio, node.is_queue, *tie)


def _before_all(node: QuotaNode) -> _Key:
    """A key that sorts before all others, so that each child's key is computed before one is chosen."""
    return (-1, node.name, node.is_queue)
