"""Lines of Pods that wait for room in the queues.

Pods that need the same in the same queue are in one line: if its first is refused, so are the others.

A line that was refused rests behind the queue that was short. What comes later to such a line only joins it. Once
something was released in that queue, the lines behind it that need the same are one contest: only as many are looked
at as there is room for.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from scheduling.volcano.gates.gang import GangWish
from scheduling.volcano.gates.gated_pod import Need

LineKey = tuple[str, Need]
"""The queue, and what has to fit there."""


class GateLines:
    """`awake` are the lines that were not tried since they are there, or since any queue changed. `released` are the
    queues that released something since they were taken."""

    def __init__(self) -> None:
        self.awake: dict[LineKey, None] = {}
        self.released: dict[str, None] = {}
        self._lines: dict[LineKey, list[GangWish]] = {}
        self._rests: dict[LineKey, str] = {}
        self._behind: dict[str, dict[Need, dict[str, None]]] = {}

    def change(self, gone: Iterable[GangWish], new: Iterable[GangWish]) -> None:
        for wish in gone:
            key = wish.queue, wish.need
            line = self._lines[key]
            del line[bisect_left(line, wish)]
            if not line:
                del self._lines[key]
                self._wake(key)
                del self.awake[key]
        for wish in new:
            key = wish.queue, wish.need
            if key not in self._lines:
                self._lines[key] = []
                self.awake[key] = None
            insort(self._lines[key], wish)

    def first(self, key: LineKey) -> GangWish | None:
        line = self._lines.get(key)
        return line[0] if line else None

    def firsts(self) -> Iterator[GangWish]:
        return (line[0] for line in self._lines.values())

    def wake_all(self) -> None:
        self._rests.clear()
        self._behind.clear()
        self.awake = dict.fromkeys(self._lines)

    def rest(self, key: LineKey, behind: str) -> None:
        """Leave it out until something is released in that queue; empty: until any queue changes."""
        self._wake(key)
        del self.awake[key]
        queue, need = key
        self._rests[key] = behind
        self._behind.setdefault(behind, {}).setdefault(need, {})[queue] = None

    def behind(self, queue: str) -> list[tuple[Need, list[LineKey]]]:
        """The lines that rest behind the queue, by what they need."""
        return [(need, [(name, need) for name in names]) for need, names in self._behind.get(queue, {}).items()]

    def _wake(self, key: LineKey) -> None:
        queue, need = key
        behind = self._rests.pop(key, None)
        if behind is not None:
            needs = self._behind[behind]
            del needs[need][queue]
            if not needs[need]:
                del needs[need]
            if not needs:
                del self._behind[behind]
        self.awake[key] = None
