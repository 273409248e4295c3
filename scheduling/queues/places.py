"""Who is the how-many-eth of those that wait at a ClusterQueue: an order that is kept once somebody has asked.

What moved since the last question is looked at with the next one, so a queue that nobody asks about pays nothing, and
one that is asked about pays the logarithm of its length for each workload that moved.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from fractions import Fraction
from heapq import merge

from scheduling.queues.entry import Entry, Order

_MOST_MOVED = 1024
"""So many moves are remembered, or a quarter of the queue; after more the order is made anew when it is asked for."""


class Places:
    """`usage_of` is there under admission fair sharing: LocalQueues that used less come first.

    `first` is a workload that goes before its equals.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.usage_of: Callable[[str], Fraction] | None = None
        self.first: str | None = None
        self._moved: set[str] = set()
        self._at: dict[str, tuple[str, Order]] = {}
        self._of: dict[str, list[Order]] = {}
        for entry in entries:
            self._at[entry.key] = (_local_queue(entry), entry.order)
            self._of.setdefault(_local_queue(entry), []).append(entry.order)
        for orders in self._of.values():
            orders.sort()
        self._all = sorted(order for _, order in self._at.values())

    def moved(self, key: str) -> bool:
        """Something came, went or changed; False where so much did that it is better to begin anew."""
        self._moved.add(key)
        return len(self._moved) <= max(_MOST_MOVED, len(self._all) // 4)

    def catch_up(self, get: Callable[[str], Entry | None]) -> None:
        """`get` tells what waits under a name now."""
        for key in self._moved:
            self._remove(key)
            entry = get(key)
            if entry is not None:
                local = _local_queue(entry)
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

    # --- questions

    def position(self, key: str) -> int:
        """From 1. Raises KeyError where it does not wait."""
        local, order = self._at[key]
        if self.usage_of is None:
            return self._within([self._all], order)
        used = self.usage_of(local)
        usage = {each: self.usage_of(each) for each in self._of}
        before = sum(len(orders) for each, orders in self._of.items() if usage[each] < used)
        return before + self._within([self._of[each] for each in self._of if usage[each] == used], order)

    def position_in(self, local: str, key: str) -> int:
        """Among those of its LocalQueue (`namespace/name`), from 1. Raises KeyError where it does not wait there."""
        _, order = self._at[key]
        return self._within([self._of[local]], order)

    def names(self, offset: int, limit: int, local: str | None = None) -> list[str]:
        """Those from the place `offset` on (from 0), of one LocalQueue or of all."""
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

    def count(self, local: str | None = None) -> int:
        """How many wait, of one LocalQueue or of all."""
        return len(self._all) if local is None else len(self._of.get(local, ()))

    def _by_usage(self, usage_of: Callable[[str], Fraction]) -> list[list[list[Order]]]:
        groups: dict[Fraction, list[list[Order]]] = {}
        for local, orders in self._of.items():
            groups.setdefault(usage_of(local), []).append(orders)
        return [groups[usage] for usage in sorted(groups)]

    def _within(self, lists: list[list[Order]], order: Order) -> int:
        """The place among these."""
        if order.key == self.first:
            return 1
        passes = self._first_in(lists)
        return 1 + sum(bisect_left(orders, order) for orders in lists) + (passes is not None and passes > order)

    def _first_in(self, lists: list[list[Order]]) -> Order | None:
        """The one that goes before its equals, where it is one of these."""
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
    """From the place `offset` on, as if that one were not among them."""
    if offset >= bisect_left(orders, first):
        return [order.key for order in orders[offset + 1 : offset + 1 + limit]]
    return [order.key for order in orders[offset : offset + limit + 1] if order != first][:limit]


def _local_queue(entry: Entry) -> str:
    return f"{entry.workload.namespace}/{entry.workload.queue}"
