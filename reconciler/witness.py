"""Who looks on while the loop works: what is counted, and what is compared, sees each change here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reconciler.feed import Seen
from scheduling.world.decisions import Decision


class Witness(Protocol):
    """Called in the loop's thread; must be quick and must not raise."""

    def changing(self, before: Seen | None, after: Seen, now: int) -> None:
        """An object is about to go into the world, which does not know of it yet. `after.value` None: it is gone."""

    def changed(self, now: int) -> None:
        """The world knows by now what `changing` told of."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """A cycle came to this."""

    def passed(self, now: int, seconds: float, /) -> None:
        """A round is over; `now` is the moment in nanoseconds, `seconds` what it took beside waiting."""


class Nobody:
    """Looks at nothing."""

    def changing(self, before: Seen | None, after: Seen, now: int) -> None:
        """Nothing."""

    def changed(self, now: int) -> None:
        """Nothing."""

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Nothing."""

    def passed(self, now: int, seconds: float, /) -> None:
        """Nothing."""
