"""The tree of Volcano's queues, with sums over each subtree.

Every name has sums, even if the queue does not exist yet. A change costs the depth of the tree. Queues on a cycle do
not count in their parents, so every walk upward ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import VolcanoQueueState, handler_of

Sums: TypeAlias = "Counter[tuple[str, str]]"
"""Sums by key: ("phase", a phase) counts PodGroups, ("amount", a resource) is in units of 1e-9."""


class VolcanoQueueTree:
    """The tree. `queues` has the queues that exist."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueObject] = {}
        self._up: dict[str, str] = {}  # the name of the parent of each queue
        self._below: dict[str, dict[str, None]] = {}  # children by the name of their parent
        self._own: dict[str, Sums] = {}  # sums of each queue without its descendants
        self._sums: dict[str, Sums] = {}  # sums over subtrees
        self._loop: set[str] = set()  # queues on cycles
        self._touched: dict[str, None] = {}  # queues to look at

    # --- the tree

    def put(self, queue: QueueObject) -> None:
        """Store a queue. If it is new or its state changed, its parent and children are touched."""
        before = self.queues.get(queue.name)
        self._link(queue.name, None if queue.name == TOP else queue.parent or TOP)
        self.queues[queue.name] = queue
        self._touched[queue.name] = None
        if before is None or before.state != queue.state:
            self._touch_around(queue.name)

    def drop(self, name: str) -> None:
        """Remove a queue; its children still name it as their parent."""
        self._touch_around(name)
        self._link(name, None)
        self.queues.pop(name, None)

    def children(self, name: str) -> list[str]:
        """The queues that name this one as their parent, except for those on a cycle."""
        return [child for child in self._below.get(name, ()) if child not in self._loop]

    def parent(self, name: str) -> str | None:
        """The name of its parent, which may not exist; None for root."""
        return self._up.get(name)

    def subtree(self, name: str) -> list[str]:
        """The queue and its descendants, parents first."""
        found = [name]
        for each in found:
            found += self.children(each)
        return found

    def ancestors(self, name: str) -> Iterator[str]:
        """The names of its ancestors, the nearest first; empty for a queue on a cycle."""
        while name not in self._loop and (name := self._up.get(name, "")):
            yield name

    def above(self, name: str) -> VolcanoQueueState:
        """The state of its parent, which it follows. Unknown if the parent is missing, or if it is on a cycle.

        Root is always open.
        """
        parent = self._up.get(name, TOP)
        if parent == TOP:
            return VolcanoQueueState.OPEN
        if name in self._loop or parent not in self.queues:
            return VolcanoQueueState.UNKNOWN
        return handler_of(self.queues[parent].state) or VolcanoQueueState.UNKNOWN

    def settled_below(self, name: str) -> bool:
        """Whether all its children are Closed."""
        return all(self.queues[child].state == VolcanoQueueState.CLOSED for child in self.children(name))

    # --- sums

    def add(self, name: str, amounts: Iterable[tuple[tuple[str, str], int]]) -> None:
        """Add the amounts, which may be negative, to the sums of the queue itself."""
        change: Sums = Counter(dict(amounts))
        _change(self._own, name, change)
        self._add_to_ancestors(name, change)

    def sums(self, name: str) -> Sums:
        """The sums over the queue and its descendants."""
        return self._sums.get(name, Counter())

    def own(self, name: str) -> Sums:
        """The sums of the queue without its descendants."""
        return self._own.get(name, Counter())

    def pod_groups(self, name: str) -> int:
        """The number of PodGroups in the queue without its descendants."""
        return sum(number for (what, _), number in self.own(name).items() if what == "phase")

    def take_touched(self) -> list[str]:
        """The queues to look at since the last call."""
        found = [name for name in self._touched if name in self.queues]
        self._touched = {}
        return found

    # --- links

    def _touch_around(self, name: str) -> None:
        near = (name, self._up.get(name, ""), *self._below.get(name, ()))
        self._touched.update(dict.fromkeys(near))

    def _link(self, name: str, parent: str | None) -> None:
        before = self._up.get(name)
        if before == parent:
            return
        if before is not None:
            self._detach(name, before)
        if parent is not None:
            self._attach(name, parent)

    def _detach(self, name: str, parent: str) -> None:
        """Remove the link to the parent. If that breaks a cycle, its queues count in their parents again."""
        del self._up[name]
        del self._below[parent][name]
        if not self._below[parent]:
            del self._below[parent]
        self._touched[parent] = None
        if name in self._loop:
            self._loop.discard(name)
            for each in self._way(parent, name):
                self._loop.discard(each)
                self._count_in(each, self._up[each], 1)
        else:
            self._count_in(name, parent, -1)

    def _attach(self, name: str, parent: str) -> None:
        """Link a queue without a parent to this one. If that closes a cycle, its queues count in no parent any more."""
        if parent == name or name in self.ancestors(parent):
            self._loop.add(name)
            for each in reversed(self._way(parent, name)):
                self._count_in(each, self._up[each], -1)
                self._loop.add(each)
        else:
            self._count_in(name, parent, 1)
        self._up[name] = parent
        self._below.setdefault(parent, {})[name] = None
        self._touched[parent] = None

    def _way(self, start: str, end: str) -> list[str]:
        """The queues from `start` up to `end`, without `end`."""
        found = []
        while start != end:
            found.append(start)
            start = self._up[start]
        return found

    def _count_in(self, name: str, parent: str, times: int) -> None:
        self._touched[name] = None
        self._add_to_ancestors(parent, Counter({key: times * amount for key, amount in self.sums(name).items()}))

    def _add_to_ancestors(self, name: str, change: Sums) -> None:
        for each in (name, *self.ancestors(name)):
            _change(self._sums, each, change)
            self._touched[each] = None


def _change(table: dict[str, Sums], name: str, change: Sums) -> None:
    """Add the change. Sums of 0 are removed, so that a removed queue leaves no entry."""
    total = table.setdefault(name, Counter())
    for key, amount in change.items():
        total[key] += amount
        if not total[key]:
            del total[key]
    if not total:
        del table[name]
