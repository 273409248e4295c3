"""Chooses the ClusterQueue that loses the next workload under fair sharing: it starts at the root and descends to the
child with the highest weighted share.

Removing victims only lowers shares, so a cached share is an upper bound. Each Cohort keeps its children in a heap, and
only the top of the heap is recomputed. So the next child is found without computing the shares of all children.
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
    """The candidates of a ClusterQueue, of which `first` is the next one."""

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
    """The remaining candidates of one preemptor, by ClusterQueue. Those of one ClusterQueue are in the order of
    preemption.

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
        # by Cohort: a heap of its children with their keys, which may be outdated
        self._heaps: dict[QuotaNode, list[tuple[_Key, QuotaNode]]] = {}
        for node, listed in self._candidates.items():
            if listed.first is not None:
                self._enter(node)

    def pick(self) -> QuotaNode | None:
        """The ClusterQueue that loses the next victim, which has a candidate to `pop`; None if none is left."""
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
        """Remove the ClusterQueue from the search. Returns its remaining candidates."""
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
        """The sort key: the highest share first, at equal shares Cohorts before ClusterQueues. None if the node has no
        candidates left, or neither borrows nor is an ancestor of the preemptor."""
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
    """A key that sorts before all real ones, so that the key of each child is computed before a child is chosen."""
    return (-1, node.name, node.is_queue)
