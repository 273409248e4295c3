"""Which leaves may preempt now, in the order in which they are tried.

A leaf that tried in vain rests. Where its own queues are beyond what they are guaranteed, it rests until they use less;
where nobody could leave for it, until anything starts or stops.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

from scheduling.queue_tree.parked_work import ParkedWork
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.tree import ApplicationTree

ANYWHERE = ""
"""Stands for all queues, where one queue has its path."""


class Preemptors:
    """`parked` has the leaves by path that tried in vain. At first there are none."""

    def __init__(self, tree: ApplicationTree) -> None:
        self.parked: ParkedWork[str] = ParkedWork()
        self._tree = tree
        self._due: list[tuple[int, str]] = []

    # --- events

    def waits(self, leaf: YuniKornQueue) -> None:
        """Something more waits in the leaf."""
        self.parked.wake(leaf.path)

    def moved(self) -> None:
        """Something started somewhere, or an application ended."""
        self.parked.released(ANYWHERE)

    def released(self, leaf: YuniKornQueue) -> None:
        """Something stopped in the leaf."""
        for queue in leaf.up():
            self.parked.released(queue.path)
        self.moved()

    def changed(self, queue: YuniKornQueue) -> None:
        """The limits or guarantees of the queue are others."""
        if queue.is_leaf:
            self.waits(queue)
            self.moved()
        else:
            self.parked.none_parked = True

    def forget(self, queue: YuniKornQueue) -> None:
        """The queue is no longer in the tree."""
        self.parked.drop(queue.path)

    # --- turns

    @property
    def next(self) -> int | None:
        """When the first leaf that rests may preempt for more."""
        return self._due[0][0] if self._due else None

    def leaves(self, now: int) -> list[YuniKornQueue]:
        while self._due and self._due[0][0] <= now:
            self.parked.wake(heappop(self._due)[1])
        if self.parked.none_parked:
            self.parked.wake_all(path for path, queue in self._tree.queues.items() if queue.is_leaf and queue.pending)
        found = []
        for path in self.parked.take():
            leaf = self._tree.queues.get(path)
            turn = self._tree.turn(leaf) if leaf is not None else None
            if leaf is not None and turn is not None:
                self.parked.wake(path)
                found.append((turn, leaf))
            elif leaf is not None:
                self.parked.park(path, frozenset(above.path for above in leaf.up() if above.settings.guaranteed))
        return [leaf for _, leaf in sorted(found, key=lambda each: each[0])]

    def in_vain(self, leaf: YuniKornQueue, waits_for: Collection[str], due: int | None) -> None:
        """The leaf found nobody for what waits in it; `due` is when more of that may preempt."""
        self.parked.park(leaf.path, frozenset(waits_for))
        if due is not None:
            heappush(self._due, (due, leaf.path))
