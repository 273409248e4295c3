"""An object on which a controller fails holds nobody else up: it rests, and an Event says so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from cluster.retry import Backoff
from reconciler.objects.observed import Key
from reconciler.objects.wanted import ObjectReference, WantedWrite
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)

INTERNAL_ERROR = "InternalError"
_FIRST, _LONGEST = 1.0, 60.0
"""Seconds between two attempts."""


class InternalErrors:
    """Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._rests: dict[Key, tuple[int, Backoff]] = {}

    def rest(self, key: Key, now: int) -> int | None:
        """Until when the object rests; None where it does not."""
        until, _ = self._rests.get(key, (0, None))
        return until if now < until else None

    def guarded(
        self, key: Key, writes: Callable[[], Iterable[WantedWrite]], about: ObjectReference | None, now: int
    ) -> list[WantedWrite]:
        """What `writes` gives; where it fails, the Event that says so. The object rests then."""
        try:
            found = [*writes()]
        except Exception as error:
            log.exception("%s %s cannot be reconciled; it is tried again later", *key)
            _, backoff = self._rests.get(key, (0, Backoff(_FIRST, _LONGEST)))
            self._rests[key] = (now + int(backoff.next() * SECOND), backoff)
            message = f"Quotree cannot reconcile this object ({type(error).__name__}: {str(error)[:200]}); see its log"
            return [WantedWrite(key, None, about, INTERNAL_ERROR, message, warning=True)]
        self._rests.pop(key, None)
        return found

    def forget(self, key: Key) -> None:
        self._rests.pop(key, None)
