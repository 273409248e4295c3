"""The leaves that may preempt now, in the order in which they are tried.

A leaf that found no victims is parked. If it may not preempt because its queues use their guaranteed amounts, it waits
until they use less. If there were no victims that would help, it waits until anything starts or stops.
"""

from __future__ import annotations

from collections.abc import Collection

from scheduling.queue_tree.parked_work import ParkedWork
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.tree import ApplicationTree

ANYWHERE = ""
"""The name for all queues, beside the paths of queues."""


class Preemptors:
    """The leaves.

    parked: by path, the leaves that found no victims.
    due: by path, when a parked leaf may preempt for another ask (nanoseconds).
    """

    def __init__(self, tree: ApplicationTree) -> None:
        self.parked: ParkedWork[str] = ParkedWork()
        self._tree = tree
        self.due: dict[str, int] = {}

    # --- events

    def waits(self, leaf: YuniKornQueue) -> None:
        """Wake the leaf, since a further ask waits in it."""
        self.parked.wake(leaf.path)

    def moved(self) -> None:
        """Wake the leaves that wait for any change: an ask was allocated, or an application ended."""
        self.parked.released(ANYWHERE)

    def released(self, leaf: YuniKornQueue) -> None:
        """Wake the leaves that wait for less usage of the leaf or its ancestors, or for any change."""
        for queue in leaf.up():
            self.parked.released(queue.path)
        self.moved()

    def changed(self, queue: YuniKornQueue) -> None:
        """Wake the leaves that a change of limits or guarantees of the queue may help."""
        if queue.is_leaf:
            self.waits(queue)
            self.moved()
        else:
            self.parked.none_parked = True

    def forget(self, queue: YuniKornQueue) -> None:
        """Forget a queue that was removed from the tree."""
        self.parked.drop(queue.path)
        self.due.pop(queue.path, None)

    # --- turns

    @property
    def next(self) -> int | None:
        """When a parked leaf may preempt for an ask that has waited long enough then; None if there is none."""
        return min(self.due.values(), default=None)

    def leaves(self, now: int) -> list[YuniKornQueue]:
        for path in [path for path, due in self.due.items() if due <= now]:
            del self.due[path]
            self.parked.wake(path)
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
        """Park the leaf, which found no victims. `due`: when another of its asks has waited long enough."""
        self.parked.park(leaf.path, frozenset(waits_for))
        if due is not None:
            self.due[leaf.path] = due
