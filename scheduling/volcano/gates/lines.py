"""Lines of Pods that wait for room in the queues.

A line has the batches that need the same amounts in the same queue: if the first one is refused, so are the others.

A refused line is parked behind the queue that was short, and stays parked when batches join it. When that queue
releases quota, the lines behind it that need the same amounts compete for it in one contest (`gate_turn.py`). Only as
many are tried as fit.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from scheduling.volcano.gates.gang import PodBatch
from scheduling.volcano.gates.gated_pod import Need

LineKey = tuple[str, Need]
"""The queue of the Pods, and what has to fit there."""


class GateLines:
    """All lines, and why some are parked.

    awake: the lines to try: new lines, and all lines after a change of a queue.
    released: the queues that released quota since the last round.
    """

    def __init__(self) -> None:
        self.awake: dict[LineKey, None] = {}
        self.released: dict[str, None] = {}
        self._lines: dict[LineKey, list[PodBatch]] = {}  # the batches of each line, sorted
        self._parked: dict[LineKey, str] = {}  # the queue that was short, by parked line
        # the parked lines by the queue that was short, by need and by their own queue
        self._behind: dict[str, dict[Need, dict[str, None]]] = {}

    def change(self, gone: Iterable[PodBatch], new: Iterable[PodBatch]) -> None:
        for batch in gone:
            key = batch.queue, batch.need
            line = self._lines[key]
            del line[bisect_left(line, batch)]
            if not line:
                del self._lines[key]
                self.awake.pop(key, None)
                self._unpark(key)
        for batch in new:
            key = batch.queue, batch.need
            if key not in self._lines:
                self._lines[key] = []
                self.awake[key] = None
            insort(self._lines[key], batch)

    def first(self, key: LineKey) -> PodBatch | None:
        line = self._lines.get(key)
        return line[0] if line else None

    def firsts(self) -> Iterator[PodBatch]:
        return (line[0] for line in self._lines.values())

    def wake_all(self) -> None:
        self._parked.clear()
        self._behind.clear()
        self.awake = dict.fromkeys(self._lines)

    def park(self, key: LineKey, behind: str) -> None:
        """Skip the line until the queue `behind` releases quota; if that is empty, until any queue changes."""
        self.awake.pop(key, None)
        self._unpark(key)
        queue, need = key
        self._parked[key] = behind
        self._behind.setdefault(behind, {}).setdefault(need, {})[queue] = None

    def behind(self, queue: str) -> list[tuple[Need, list[LineKey]]]:
        """The lines that are parked behind the queue, by what they need."""
        return [(need, [(name, need) for name in names]) for need, names in self._behind.get(queue, {}).items()]

    def _unpark(self, key: LineKey) -> None:
        queue, need = key
        behind = self._parked.pop(key, None)
        if behind is None:
            return
        needs = self._behind[behind]
        del needs[need][queue]
        if not needs[need]:
            del needs[need]
        if not needs:
            del self._behind[behind]
