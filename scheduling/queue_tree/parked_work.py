"""Refused work is not tried again before something changes that could help.

Work that was refused rests until more becomes free of what it waits for. Until then it would be refused again, since
all other changes only take room away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class ParkedWork(Generic[T]):
    """`awake` are those that do not rest, by name. `nobody`: it is as if none did."""

    def __init__(self) -> None:
        self.awake: set[T] = set()
        self.nobody = True
        self._waits_for: dict[T, frozenset[str]] = {}
        self._behind: dict[str, set[T]] = {}

    def wake(self, who: T) -> None:
        self.awake.add(who)
        for what in self._waits_for.pop(who, ()):
            behind = self._behind[what]
            behind.discard(who)
            if not behind:
                del self._behind[what]

    def take(self) -> set[T]:
        """All that are awake; who is to stay so has to be woken again. A set that was large once stays slow to walk."""
        taken, self.awake = self.awake, set()
        return taken

    def released(self, what: str) -> None:
        """More of this is free than before: what waits for it is tried again."""
        for who in [*self._behind.get(what, ())]:
            self.wake(who)

    def wake_all(self, everybody: Iterable[T]) -> None:
        self._waits_for.clear()
        self._behind.clear()
        self.awake = {*everybody}
        self.nobody = False

    def park(self, who: T, waits_for: frozenset[str]) -> None:
        """Park the work until one of these is released, or until it is woken."""
        self.drop(who)
        self._waits_for[who] = waits_for
        for what in waits_for:
            self._behind.setdefault(what, set()).add(who)

    def drop(self, who: T) -> None:
        self.wake(who)
        self.awake.discard(who)
