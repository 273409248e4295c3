"""Moments in nanoseconds: as conditions hold them, in whole seconds, and of objects that are looked at later."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from scheduling.objects.times import SECOND


def whole_second(now: int) -> int:
    return now // SECOND * SECOND


def next_second(at: int) -> int:
    """The first whole second at which this moment has come."""
    return -(-at // SECOND) * SECOND


_SPARE = 64


class DueNames:
    """The moment at which each object is due. An object has one moment, and the last one that was set counts."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._order: list[tuple[int, str]] = []

    def __len__(self) -> int:
        """The number of objects that have a moment."""
        return len(self._at)

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def get(self, name: str) -> int | None:
        return self._at.get(name)

    def set(self, name: str, at: int) -> None:
        """Set the moment of one object. The heap is rebuilt when most of its entries are out of date."""
        self._at[name] = at
        heapq.heappush(self._order, (at, name))
        if len(self._order) > 2 * len(self._at) + _SPARE:
            self._order = sorted((at, name) for name, at in self._at.items())

    def drop(self, name: str) -> bool:
        """Whether it had a moment."""
        return self._at.pop(name, None) is not None

    @property
    def next(self) -> int | None:
        """A moment before which none is due; None if there is none."""
        return self._order[0][0] if self._order else None

    def due(self, now: int) -> Iterator[str]:
        """Each object whose moment has come, once. It keeps its moment until another is set, or it is dropped."""
        while self._order and self._order[0][0] <= now:
            at, name = heapq.heappop(self._order)
            if self._at.get(name) == at:
                yield name
