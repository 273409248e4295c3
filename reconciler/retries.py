"""What is to be asked of the API server once more, and when: no answer is a reason to hurry."""

from __future__ import annotations

from collections.abc import Callable

from cluster.errors import ApiError
from cluster.retry import Backoff, asked_wait
from reconciler.feed import Key
from scheduling.objects.times import SECOND

_FIRST, _LONGEST = 0.2, 30.0
"""Seconds between two attempts."""
_REMEMBERED = 600 * SECOND
"""After a rest, in nanoseconds: an object that nobody asks for again by then is not there any more, or is well."""
_WORTH_ANOTHER_TRY = (401, 408, 429)


def refused(error: Exception) -> bool:
    """Whether the API server looked at the request and wants none of it: the same request would fare the same."""
    return isinstance(error, ApiError) and 400 <= error.status < 500 and error.status not in _WORTH_ANOTHER_TRY


class Retries:
    """An API server that fails is left alone for a while, by all; a write that it refuses rests by itself.

    `clock` gives the moment in nanoseconds.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._backoff = Backoff(_FIRST, _LONGEST)
        self._asks: list[Callable[[], None]] = []
        self._later: list[tuple[int, Callable[[], None]]] = []
        self._rests: dict[Key, tuple[int, Backoff]] = {}
        self.paused_until = 0

    @property
    def paused(self) -> bool:
        return self._clock() < self.paused_until

    def pause(self, error: Exception, ask: Callable[[], None]) -> None:
        """Ask again after the pause; failures within it do not make it longer."""
        self._asks.append(ask)
        if not self.paused:
            asked = asked_wait(error) if isinstance(error, ApiError) else None
            self.paused_until = self._clock() + int(self._backoff.next(asked) * SECOND)

    def again(self) -> None:
        """Ask what is to be asked again by now."""
        now = self._clock()
        asks, self._asks = [*self._asks, *(ask for at, ask in self._later if at <= now)], []
        self._later = [(at, ask) for at, ask in self._later if at > now]
        for ask in asks:
            ask()

    def answered(self) -> None:
        """The API server does its work: the next pause is brief again."""
        self._backoff.reset()

    def rest(self, key: Key, ask: Callable[[], None] | None = None) -> int:
        """Nothing is written of it for a while; the moment of its end, when `ask` is asked."""
        _, backoff = self._rests.pop(key, (0, Backoff(_FIRST, _LONGEST)))
        until = self._clock() + int(backoff.next() * SECOND)
        self._forget_old()
        self._rests[key] = (until, backoff)
        if ask is not None:
            self._later.append((until, ask))
        return until

    def _forget_old(self) -> None:
        """The one that was laid to rest last is the last."""
        while self._rests and next(iter(self._rests.values()))[0] < self._clock() - _REMEMBERED:
            del self._rests[next(iter(self._rests))]

    def resting(self, key: Key) -> bool:
        until, _ = self._rests.get(key, (0, None))
        return self._clock() < until

    def forget(self, key: Key) -> None:
        """It rests no more."""
        self._rests.pop(key, None)
