"""The interface of observers. The core reports changes and decisions to them, which metrics count, for example."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.objects.observed import Observed
from scheduling.world.decisions import Decision


class Observer:
    """Does nothing. An observer overrides the methods that it needs.

    They are called in the thread of the loop, must be fast and must not raise.
    """

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        """An object is about to change. The world does not include the change yet.

        `before`: None for a new object.
        `after`: its value is None if the object is gone.
        """

    def changed(self, now: int) -> None:
        """The world now includes the change that was reported to `changing`."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """A cycle made these decisions. `seconds`: its duration."""

    def passed(self, now: int, seconds: float, /) -> None:
        """A round of the loop is over. `now`: nanoseconds. `seconds`: its duration without waiting."""


class Observers(Observer):
    """Calls several observers in order."""

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
