"""An object that makes us fail ends nothing but what was to be done for it: it rests, and people are told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from cluster.retry import Backoff
from reconciler.events import About
from reconciler.feed import Key
from reconciler.side import Turn
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)

FAULT = "InternalError"
_FIRST, _LONGEST = 1.0, 60.0
"""Seconds between two attempts."""


class Faults:
    """Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._rests: dict[Key, tuple[int, Backoff]] = {}

    def resting(self, key: Key, now: int) -> bool:
        until, _ = self._rests.get(key, (0, None))
        return now < until

    def guarded(self, key: Key, turns: Callable[[], Iterable[Turn]], about: About | None, now: int) -> list[Turn]:
        """What `turns` gives; where it fails, one that says so about the object, which rests then."""
        try:
            found = [*turns()]
        except Exception as error:
            log.exception("%s %s cannot be looked after; it is tried again later", *key)
            _, backoff = self._rests.get(key, (0, Backoff(_FIRST, _LONGEST)))
            self._rests[key] = (now + int(backoff.next() * SECOND), backoff)
            message = f"Quotree cannot look after this object ({type(error).__name__}: {str(error)[:200]}); see its log"
            return [Turn(key, None, about, FAULT, message, warning=True)]
        self._rests.pop(key, None)
        return found

    def forget(self, key: Key) -> None:
        self._rests.pop(key, None)
