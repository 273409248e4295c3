"""Requests to send again: all of them after a pause if the API server fails, or one alone if others may succeed."""

from __future__ import annotations

from cluster.errors import ApiError, Unreachable
from cluster.retry import RandomBackoff, asked_wait
from reconciler.objects.observed import Key
from scheduling.objects.times import SECOND

_FIRST, _LONGEST = 0.2, 30.0
"""Seconds between two attempts."""
_WORTH_ANOTHER_TRY = (401, 408, 429)
_INTERNAL = 500
_TOO_LARGE = ("request is too large", "message larger than max")
"""Texts of errors with status 500 about an object that etcd does not store because of its size."""


def refused(error: Exception) -> bool:
    """Whether the API server rejected the request itself, so that the same request would fail again."""
    if not isinstance(error, ApiError):
        return False
    if error.status == _INTERNAL:
        return any(text in error.message for text in _TOO_LARGE)
    return 400 <= error.status < 500 and error.status not in _WORTH_ANOTHER_TRY


def concerns_one_object(error: Exception) -> bool:
    """Whether the failure may be that of one object, so that requests about other objects are not delayed.

    One slow response does not mean that the API server fails. It answers 500 also if a webhook for the object cannot be
    called.
    """
    return (isinstance(error, Unreachable) and error.slow) or (
        isinstance(error, ApiError) and error.status == _INTERNAL
    )


class Retries:
    """Until when no request is sent, and when the failed ones are sent again. Times are in nanoseconds."""

    def __init__(self) -> None:
        self.paused_until = 0
        self._backoff = RandomBackoff(_FIRST, _LONGEST)
        self._postponed: dict[Key, int] = {}

    def paused(self, now: int) -> bool:
        return now < self.paused_until

    def pause(self, key: Key, error: Exception, now: int) -> None:
        """Pause all requests because the API server fails. The request about this object is sent again after the pause.

        Further failures within a pause do not make it longer.
        """
        self._postponed[key] = 0
        if not self.paused(now):
            asked = asked_wait(error) if isinstance(error, ApiError) else None
            self.paused_until = now + int(self._backoff.next(asked) * SECOND)

    def postpone(self, key: Key, until: int) -> None:
        """Send the request about this object again at that time, without a pause for others."""
        self._postponed[key] = until

    def due(self, now: int) -> list[Key]:
        """The objects whose request is to be sent again now. Called when there is no pause."""
        if not self._postponed:
            return []
        found = [key for key, until in self._postponed.items() if until <= now]
        for key in found:
            del self._postponed[key]
        return found

    def answered(self) -> None:
        """The API server works: the next pause is short again."""
        self._backoff.reset()
