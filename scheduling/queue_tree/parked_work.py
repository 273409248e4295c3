"""Refused work is parked: it is not tried again before a change that could help.

Parked work waits until more becomes free of what was short. Every other change only takes room away, so that the work
would be refused again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from scheduling.objects.grouped import Links

T = TypeVar("T", bound=Hashable)


class ParkedWork(Generic[T]):
    """Work by name, and what each parked item waits for.

    none_parked: everything is to be tried again, whatever is parked.
    """

    def __init__(self) -> None:
        self.awake: set[T] = set()
        self.none_parked = True
        self._parked: Links[T, str] = Links()  # the parked work by what it waits for

    def wake(self, who: T) -> None:
        self.awake.add(who)
        self._parked.drop(who)

    def take(self) -> set[T]:
        """Return all work that is awake, and empty the set.

        It is replaced, since a set that was large once stays slow.
        """
        taken, self.awake = self.awake, set()
        return taken

    def released(self, what: str) -> None:
        """Wake the work that waits for this, since more of it is free now."""
        for who in self._parked.of(what):
            self.wake(who)

    def wake_all(self, everybody: Iterable[T]) -> None:
        self._parked = Links()
        self.awake = {*everybody}
        self.none_parked = False

    def park(self, who: T, waits_for: frozenset[str]) -> None:
        """Park the work until one of these is released, or until it is woken."""
        self.drop(who)
        self._parked.put(who, waits_for)

    def drop(self, who: T) -> None:
        self.wake(who)
        self.awake.discard(who)
