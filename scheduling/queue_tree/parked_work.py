"""Refused work is parked: it is not tried again before a change that could help.

Parked work waits until more becomes free of what was short. Every other change only takes room away, so that the work
would be refused again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class ParkedWork(Generic[T]):
    """Work by name, and what each parked item waits for.

    none_parked: everything is to be tried again, whatever is parked.
    """

    def __init__(self) -> None:
        self.awake: set[T] = set()
        self.none_parked = True
        self._waits_for: dict[T, frozenset[str]] = {}  # parked work, and what it waits for
        self._behind: dict[str, set[T]] = {}  # the parked work by what it waits for

    def wake(self, who: T) -> None:
        self.awake.add(who)
        for what in self._waits_for.pop(who, ()):
            behind = self._behind[what]
            behind.discard(who)
            if not behind:
                del self._behind[what]

    def take(self) -> set[T]:
        """Return all work that is awake, and empty the set.

        It is replaced, since a set that was large once stays slow.
        """
        taken, self.awake = self.awake, set()
        return taken

    def released(self, what: str) -> None:
        """Wake the work that waits for this, since more of it is free now."""
        for who in [*self._behind.get(what, ())]:
            self.wake(who)

    def wake_all(self, everybody: Iterable[T]) -> None:
        self._waits_for.clear()
        self._behind.clear()
        self.awake = {*everybody}
        self.none_parked = False

    def park(self, who: T, waits_for: frozenset[str]) -> None:
        """Park the work until one of these is released, or until it is woken."""
        self.drop(who)
        self._waits_for[who] = waits_for
        for what in waits_for:
            self._behind.setdefault(what, set()).add(who)

    def drop(self, who: T) -> None:
        self.wake(who)
        self.awake.discard(who)
