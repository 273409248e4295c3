"""An object on which a controller fails holds nobody else up: it rests, and an Event says so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from cluster.retry import RandomBackoff
from reconciler.core.controller import Busy, WaitFor, WakeAt
from reconciler.objects.observed import Key
from reconciler.objects.wanted import ObjectReference, WantedWrite
from reconciler.recorder.journal import followed
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)

INTERNAL_ERROR = "InternalError"
_FIRST, _LONGEST = 1.0, 60.0
"""Seconds between two attempts."""


class InternalErrors:
    """Moments are in nanoseconds."""

    def __init__(self) -> None:
        self._rests: dict[Key, tuple[int, RandomBackoff]] = {}

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
            fields = followed(about)
            log.exception("%s %s cannot be reconciled; it is tried again later", *key, extra={"fields": fields})
            _, backoff = self._rests.get(key, (0, RandomBackoff(_FIRST, _LONGEST)))
            self._rests[key] = (now + int(backoff.next() * SECOND), backoff)
            message = f"Quotree cannot reconcile this object ({type(error).__name__}: {str(error)[:200]}); see its log"
            return [WantedWrite(key, None, about, INTERNAL_ERROR, message, warning=True)]
        self._rests.pop(key, None)
        return found

    def attempt(
        self,
        item: Key,
        keys: tuple[Key, ...],
        look: Callable[[], Iterable[WantedWrite]],
        about: ObjectReference | None,
        busy: Busy,
        now: int,
    ) -> Iterator[WantedWrite | WaitFor | WakeAt]:
        """What `look` gives, unless one of `keys` is busy. What came of it is looked at, also where it failed."""
        blocked = next((key for key in keys if busy(*key)), None)
        if blocked is not None:
            yield WaitFor(item, blocked)
            return
        if self.rest(item, now) is None:
            for write in self.guarded(item, look, about, now):
                yield write
                if write.action is not None:
                    yield WaitFor(item, write.key)
        if until := self.rest(item, now):
            yield WakeAt(item, until)

    def forget(self, key: Key) -> None:
        self._rests.pop(key, None)
