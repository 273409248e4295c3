"""The tree of Volcano's queues, with what is in each subtree.

A sum is kept for every name, also of a queue that does not exist yet, and follows each change at the cost of the
depth. Nodes on a cycle count for themselves alone: nothing of them goes up, so every walk ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from scheduling.volcano_queues.queue_object import TOP, QueueObject
from scheduling.volcano_queues.states import VolcanoQueueState, handler_of

Sums: TypeAlias = "Counter[tuple[str, str]]"
"""(what is counted, its name): ("phase", a phase) in PodGroups, ("amount", a resource) in units of 1e-9."""


class VolcanoQueueTree:
    """`queues` are those that exist."""

    def __init__(self) -> None:
        self.queues: dict[str, QueueObject] = {}
        self._up: dict[str, str] = {}
        self._below: dict[str, dict[str, None]] = {}
        self._own: dict[str, Sums] = {}
        self._sums: dict[str, Sums] = {}
        self._loop: set[str] = set()
        self._touched: dict[str, None] = {}

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
        """The queues that name it as their parent, except for those on a cycle."""
        return [child for child in self._below.get(name, ()) if child not in self._loop]

    def parent(self, name: str) -> str | None:
        """The name that it has as its parent, whether there is such a queue or not; None of root."""
        return self._up.get(name)

    def subtree(self, name: str) -> list[str]:
        """The queue and its descendants, parents first."""
        found = [name]
        for each in found:
            found += self.children(each)
        return found

    def ancestors(self, name: str) -> Iterator[str]:
        """The names above, the nearest first; none of a queue on a cycle."""
        while name not in self._loop and (name := self._up.get(name, "")):
            yield name

    def above(self, name: str) -> VolcanoQueueState:
        """The state of its parent, which it follows. Unknown where the parent is missing, or both are on a cycle.

        Directly below root a queue follows nobody, since root is never closed.
        """
        parent = self._up.get(name, TOP)
        if parent == TOP:
            return VolcanoQueueState.OPEN
        if name in self._loop or parent not in self.queues:
            return VolcanoQueueState.UNKNOWN
        return handler_of(self.queues[parent].state) or VolcanoQueueState.UNKNOWN

    def settled_below(self, name: str) -> bool:
        """Whether all its children are closed."""
        return all(self.queues[child].state == VolcanoQueueState.CLOSED for child in self.children(name))

    # --- what is in it

    def add(self, name: str, amounts: Iterable[tuple[tuple[str, str], int]]) -> None:
        """Add the amounts, which may be negative, to what is in the queue itself."""
        change: Sums = Counter(dict(amounts))
        _change(self._own, name, change)
        self._go_up(name, change)

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
        """The queues to look at since the last time."""
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
        broken = bool(self._loop) or parent == name or (parent is not None and name in self.ancestors(parent))
        if before is not None:
            if not broken:
                self._go_up(before, Counter({key: -amount for key, amount in self.sums(name).items()}))
            self._cut(name, before)
        if parent is not None:
            self._up[name] = parent
            self._below.setdefault(parent, {})[name] = None
            if not broken:
                self._go_up(parent, self.sums(name))
        if broken:
            self._count_anew()

    def _cut(self, name: str, parent: str) -> None:
        del self._up[name]
        del self._below[parent][name]
        if not self._below[parent]:
            del self._below[parent]
        self._touched[parent] = None

    def _go_up(self, name: str, change: Sums) -> None:
        for each in (name, *self.ancestors(name)):
            _change(self._sums, each, change)
            self._touched[each] = None

    def _count_anew(self) -> None:
        """Find who is on a cycle by now, and count from zero: rare, and nobody has to undo anything."""
        self._loop = _on_cycle(self._up)
        self._sums = {}
        for name, own in self._own.items():
            self._go_up(name, own)
        self._touched.update(dict.fromkeys(self.queues))


def _change(table: dict[str, Sums], name: str, change: Sums) -> None:
    """Zeros are dropped, so that what is gone leaves nothing behind."""
    total = table.setdefault(name, Counter())
    for key, amount in change.items():
        total[key] += amount
        if not total[key]:
            del total[key]
    if not total:
        del table[name]


def _on_cycle(up: dict[str, str]) -> set[str]:
    looked, found = set[str](), set[str]()
    for start in up:
        way: dict[str, None] = {}
        name = start
        while name and name not in looked and name not in way:
            way[name] = None
            name = up.get(name, "")
        if name in way:
            names = [*way]
            found.update(names[names.index(name) :])
        looked.update(way)
    return found
