"""Who looks on while the core works: metrics count, and the comparison compares, what is shown here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reconciler.objects.observed import Observed
from scheduling.world.decisions import Decision


class Observer(Protocol):
    """Called in the loop's thread; must be quick and must not raise."""

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        """An object is about to go into the world, which does not know of it yet. `after.value` None: it is gone."""

    def changed(self, now: int) -> None:
        """The world has the change of `changing` by now."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """A cycle came to this."""

    def passed(self, now: int, seconds: float, /) -> None:
        """A round is over; `now` is the moment in nanoseconds, `seconds` what it took beside waiting."""


class NullObserver:
    """Looks at nothing."""

    def changing(self, before: Observed[object] | None, after: Observed[object], now: int) -> None:
        """Nothing."""

    def changed(self, now: int) -> None:
        """Nothing."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Nothing."""

    def passed(self, now: int, seconds: float, /) -> None:
        """Nothing."""


class Observers:
    """Several, in their order."""

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
