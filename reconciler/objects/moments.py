"""Times in nanoseconds: rounded to whole seconds for conditions, and the times at which objects are due."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from scheduling.objects.times import SECOND


def whole_second(now: int) -> int:
    return now // SECOND * SECOND


def next_second(at: int) -> int:
    """The first whole second that is not before this time."""
    return -(-at // SECOND) * SECOND


_SPARE = 64


class DueNames:
    """The time at which each object is due. An object has one time; a new one replaces it."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._order: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def get(self, name: str) -> int | None:
        return self._at.get(name)

    def set(self, name: str, at: int) -> None:
        """Set the time of an object. The heap is rebuilt when most of its entries are outdated."""
        self._at[name] = at
        heapq.heappush(self._order, (at, name))
        if len(self._order) > 2 * len(self._at) + _SPARE:
            self._order = sorted((at, name) for name, at in self._at.items())

    def drop(self, name: str) -> bool:
        return self._at.pop(name, None) is not None

    @property
    def next(self) -> int | None:
        """A time before which no object is due; None if there are no objects."""
        return self._order[0][0] if self._order else None

    def due(self, now: int) -> Iterator[str]:
        """The objects whose time has come. An object keeps its time until it is set again or dropped."""
        while self._order and self._order[0][0] <= now:
            at, name = heapq.heappop(self._order)
            if self._at.get(name) == at:
                yield name
