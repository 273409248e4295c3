"""Isolates objects that a controller fails to handle: they get a backoff, and an Event reports the error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from cluster.retry import RandomBackoff
from reconciler.core.controller import Busy, WaitFor, WakeAt
from reconciler.objects.observed import Key
from reconciler.objects.wanted import ObjectReference, WantedWrite
from reconciler.recorder.journal import followed
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)
T = TypeVar("T")

INTERNAL_ERROR = "InternalError"
_FIRST, _LONGEST = 1.0, 60.0
"""Seconds between two attempts."""


class InternalErrors:
    """The objects that failed, with their backoffs. Times are in nanoseconds."""

    def __init__(self) -> None:
        self._backoffs: dict[Key, tuple[int, RandomBackoff]] = {}

    def backoff_end(self, key: Key, now: int) -> int | None:
        until, _ = self._backoffs.get(key, (0, None))
        return until if now < until else None

    def guarded(
        self, key: Key, writes: Callable[[], Iterable[T]], about: ObjectReference | None, now: int
    ) -> list[T | WantedWrite]:
        """The result of `writes`. If it raises an error, return the Event that reports it, and start a backoff."""
        try:
            found: list[T | WantedWrite] = [*writes()]
        except Exception as error:
            fields = followed(about)
            log.exception("%s %s cannot be reconciled; it is tried again later", *key, extra={"fields": fields})
            _, backoff = self._backoffs.get(key, (0, RandomBackoff(_FIRST, _LONGEST)))
            self._backoffs[key] = (now + int(backoff.next() * SECOND), backoff)
            message = f"Quotree cannot reconcile this object ({type(error).__name__}: {str(error)[:200]}); see its log"
            return [WantedWrite(key, None, about, INTERNAL_ERROR, message, warning=True)]
        self._backoffs.pop(key, None)
        return found

    def isolated(
        self, item: Key, look: Callable[[], Iterable[T]], about: ObjectReference | None, now: int
    ) -> Iterator[T | WantedWrite | WakeAt]:
        """The result of `look`, unless the item has a backoff. After a backoff the controller looks at it again."""
        if self.backoff_end(item, now) is None:
            yield from self.guarded(item, look, about, now)
        if until := self.backoff_end(item, now):
            yield WakeAt(item, until)

    def attempt(
        self,
        item: Key,
        keys: tuple[Key, ...],
        look: Callable[[], Iterable[T]],
        about: ObjectReference | None,
        busy: Busy,
        now: int,
    ) -> Iterator[T | WantedWrite | WaitFor | WakeAt]:
        """The result of `look`, unless one of `keys` is busy. After a write the controller looks at the item again."""
        blocked = next((key for key in keys if busy(*key)), None)
        if blocked is not None:
            yield WaitFor(item, blocked)
            return
        for wanted in self.isolated(item, look, about, now):
            yield wanted
            if isinstance(wanted, WantedWrite) and wanted.action is not None:
                yield WaitFor(item, wanted.key)

    def forget(self, key: Key) -> None:
        self._backoffs.pop(key, None)
