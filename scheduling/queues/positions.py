"""The position of each workload in a ClusterQueue, by a sorted order that is kept from the first query on.

A query first applies the moves since the last query. So a queue without queries costs nothing, and one with queries
costs the logarithm of its length for each move.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from fractions import Fraction
from heapq import merge

from scheduling.queues.entry import Order, PendingEntry

_MOST_MOVED = 1024
"""With more pending moves than this, or than a quarter of the queue, the order is sorted again instead."""


class Positions:
    """The positions in a ClusterQueue.

    usage_of: with admission fair sharing, the usage of a LocalQueue. Those with less usage come first.
    first: the sticky workload. It comes before all others with equal usage.
    """

    def __init__(self, entries: Iterable[PendingEntry]) -> None:
        self.usage_of: Callable[[str], Fraction] | None = None
        self.first: str | None = None
        self._moved: set[str] = set()  # keys to update before the next query
        self._at: dict[str, tuple[str, Order]] = {}  # LocalQueue and sort key of each workload
        self._of: dict[str, list[Order]] = {}  # sort keys by LocalQueue, sorted
        for entry in entries:
            local = entry.workload.local_queue
            self._at[entry.key] = (local, entry.order)
            self._of.setdefault(local, []).append(entry.order)
        for orders in self._of.values():
            orders.sort()
        self._all = sorted(order for _, order in self._at.values())

    def moved(self, key: str) -> bool:
        """Note a workload that was added, removed or changed. Returns False if it is cheaper to sort again."""
        self._moved.add(key)
        return len(self._moved) <= max(_MOST_MOVED, len(self._all) // 4)

    def catch_up(self, get: Callable[[str], PendingEntry | None]) -> None:
        """Apply the moves. `get` returns the entry of a key; None if it was removed."""
        for key in self._moved:
            self._remove(key)
            entry = get(key)
            if entry is not None:
                local = entry.workload.local_queue
                self._at[key] = (local, entry.order)
                insort(self._all, entry.order)
                insort(self._of.setdefault(local, []), entry.order)
        self._moved.clear()

    def _remove(self, key: str) -> None:
        local, order = self._at.pop(key, ("", None))
        if order is not None:
            orders = self._of[local]
            del self._all[bisect_left(self._all, order)], orders[bisect_left(orders, order)]
            if not orders:
                del self._of[local]

    # --- queries

    def position(self, key: str) -> int:
        """The position of the key, from 1. Raises KeyError if it is not in the queue."""
        local, order = self._at[key]
        if self.usage_of is None:
            return self._within([self._all], order)
        used = self.usage_of(local)
        usage = {each: self.usage_of(each) for each in self._of}
        before = sum(len(orders) for each, orders in self._of.items() if usage[each] < used)
        return before + self._within([self._of[each] for each in self._of if usage[each] == used], order)

    def position_in(self, local: str, key: str) -> int:
        """The position in its LocalQueue (`namespace/name`), from 1. Raises KeyError if it is not in the queue."""
        _, order = self._at[key]
        return self._within([self._of[local]], order)

    def names(self, offset: int, limit: int, local: str | None = None) -> list[str]:
        """The names of at most `limit` workloads from position `offset` (from 0) on, of one LocalQueue or of all."""
        if local is not None:
            return self._slice([self._of.get(local, [])], offset, limit)
        if self.usage_of is None:
            return self._slice([self._all], offset, limit)
        found: list[str] = []
        for orders in self._by_usage(self.usage_of):
            length = sum(map(len, orders))
            if offset < length and len(found) < limit:
                found += self._slice(orders, offset, limit - len(found))
            offset = max(0, offset - length)
        return found

    def _by_usage(self, usage_of: Callable[[str], Fraction]) -> list[list[list[Order]]]:
        groups: dict[Fraction, list[list[Order]]] = {}
        for local, orders in self._of.items():
            groups.setdefault(usage_of(local), []).append(orders)
        return [groups[usage] for usage in sorted(groups)]

    def _within(self, lists: list[list[Order]], order: Order) -> int:
        if order.key == self.first:
            return 1
        passes = self._first_in(lists)
        return 1 + sum(bisect_left(orders, order) for orders in lists) + (passes is not None and passes > order)

    def _first_in(self, lists: list[list[Order]]) -> Order | None:
        """The sticky workload, if these lists have it; else None."""
        _, order = self._at.get(self.first or "", ("", None))
        if order is None:
            return None
        found = (orders for orders in lists if (at := bisect_left(orders, order)) < len(orders) and orders[at] == order)
        return order if next(found, None) is not None else None

    def _slice(self, lists: list[list[Order]], offset: int, limit: int) -> list[str]:
        orders = lists[0] if len(lists) == 1 else list(merge(*lists))
        first = self._first_in(lists)
        if first is None:
            return [order.key for order in orders[offset : offset + limit]]
        if offset == 0:
            return [first.key, *_others(orders, first, 0, limit)][:limit]
        return _others(orders, first, offset - 1, limit)


def _others(orders: list[Order], first: Order, offset: int, limit: int) -> list[str]:
    """The keys from position `offset` on, without `first`."""
    if offset >= bisect_left(orders, first):
        return [order.key for order in orders[offset + 1 : offset + 1 + limit]]
    return [order.key for order in orders[offset : offset + limit + 1] if order != first][:limit]
