"""Who waits for room in the queues: Pods that need the same in the same queue stand in one line, as they share the fate
of its first.

A line that was refused rests until something was released in the queue that was short. What comes later to such a line
only joins it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from scheduling.queue_tree.rests import Rests
from scheduling.volcano.gang import Wish
from scheduling.volcano.gated_pod import Need

LineKey = tuple[str, Need]
"""The queue, and what has to fit there."""


class Lines:
    def __init__(self) -> None:
        self.rests: Rests[LineKey] = Rests()
        self._lines: dict[LineKey, list[Wish]] = {}

    def change(self, gone: Iterable[Wish], new: Iterable[Wish]) -> None:
        for wish in gone:
            key = wish.queue, wish.need
            line = self._lines[key]
            del line[bisect_left(line, wish)]
            if not line:
                del self._lines[key]
                self.rests.drop(key)
        for wish in new:
            key = wish.queue, wish.need
            if key not in self._lines:
                self._lines[key] = []
                self.rests.wake(key)
            insort(self._lines[key], wish)

    def first(self, queue: str, need: Need) -> Wish | None:
        line = self._lines.get((queue, need))
        return line[0] if line else None

    def firsts(self) -> Iterator[Wish]:
        return (line[0] for line in self._lines.values())

    def wake_all(self) -> None:
        self.rests.wake_all(self._lines)
