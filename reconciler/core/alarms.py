"""Alarms: the times at which the core looks at objects again."""

from __future__ import annotations

import heapq

from reconciler.objects.observed import Key


class Alarms:
    """Keys of objects, by the time at which to look at them. Times are in nanoseconds.

    An alarm that is set twice for the same time and key is returned once.
    """

    def __init__(self) -> None:
        self._order: list[tuple[int, Key]] = []
        self._set: set[tuple[int, Key]] = set()

    def set(self, at: int, key: Key) -> None:
        if (at, key) not in self._set:
            self._set.add((at, key))
            heapq.heappush(self._order, (at, key))

    def __contains__(self, alarm: object) -> bool:
        """Whether an alarm is set for this pair of time and key."""
        return alarm in self._set

    @property
    def next(self) -> int | None:
        return self._order[0][0] if self._order else None

    def due(self, now: int) -> list[Key]:
        """Remove and return the keys whose time has come."""
        found = []
        while self._order and self._order[0][0] <= now:
            alarm = heapq.heappop(self._order)
            self._set.discard(alarm)
            found.append(alarm[1])
        return found
