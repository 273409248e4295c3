"""The interface of observers, which watch the core: metrics count, and the comparison compares, what is passed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reconciler.objects.observed import Observed
from scheduling.world.decisions import Decision


class Observer(Protocol):
    """Called in the loop's thread; methods must be quick and must not raise."""

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        """An object is about to change in the world, which is not updated yet.

        `after.value`: None if the object is gone.
        """

    def changed(self, now: int) -> None:
        """The world now includes the change of `changing`."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """A cycle made these decisions."""

    def passed(self, now: int, seconds: float, /) -> None:
        """A round is over. `now`: the moment in nanoseconds. `seconds`: its duration without waiting."""


class NullObserver:
    """An observer that does nothing."""

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        """Do nothing."""

    def changed(self, now: int) -> None:
        """Do nothing."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Do nothing."""

    def passed(self, now: int, seconds: float, /) -> None:
        """Do nothing."""


class Observers:
    """Several observers, called in order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        for each in self._observers:
            each.changing(before, after, now)

    def changed(self, now: int) -> None:
        for each in self._observers:
            each.changed(now)

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        for each in self._observers:
            each.decided(decisions, seconds)

    def passed(self, now: int, seconds: float, /) -> None:
        for each in self._observers:
            each.passed(now, seconds)
