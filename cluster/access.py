"""Authenticates and authorizes callers by asking the API server; answers are cached for some seconds.

A right that is taken away ends at most `KEPT` seconds later. Tokens are not kept, only what they hash to.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import Generic, TypeVar

from cluster.client import ClusterClient
from cluster.errors import ClusterError
from cluster.reviews import Access, Caller, PathAccess, may, who
from cluster.wire import Timeouts

KEPT = 10.0
"""Seconds for which an answer of the API server holds."""
REVIEW_TIMEOUTS = Timeouts(connect=3.0, read=5.0)
"""The timeouts of the client for reviews: a caller waits meanwhile."""
_MOST = 4096
"""The most answers that are cached; the oldest are dropped first."""
_AT_ONCE = 4
"""Requests to the API server under way at a time: callers with invalid tokens must not starve the reconciler."""
_LONGEST = 16 * 1024
"""Bytes; a longer token is not accepted."""
_METRICS = PathAccess("get", "/metrics")
T = TypeVar("T")


class Remembered(Generic[T]):
    """Answers by what was asked, each for `seconds`, no more than `most`; for use by many threads."""

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable, find_out: Callable[[], T]) -> T:
        """What `find_out` says, or said not long ago. What it raises is not remembered."""
        with self._lock:
            until, answer = self._answers.get(question, (0.0, None))
            if answer is not None and self._clock() < until:
                return answer
        found = find_out()
        with self._lock:
            self._answers[question] = (self._clock() + self._seconds, found)
            self._answers.move_to_end(question)
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return found

    def __len__(self) -> int:
        return len(self._answers)


class Reviews:
    """Asks `cluster`. Its methods raise ClusterError where the API server cannot be asked."""

    def __init__(self, cluster: ClusterClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._callers: Remembered[tuple[Caller | None]] = Remembered(KEPT, _MOST, clock)
        self._rights: Remembered[tuple[bool]] = Remembered(KEPT, _MOST, clock)

    def who(self, token: str) -> Caller | None:
        """The caller that the token belongs to; None if the API server does not accept it."""
        if not token or len(token) > _LONGEST:
            return None
        found = self._callers.get(sha256(token.encode()).digest(), lambda: (self._who(token),))
        return found[0]

    def may(self, caller: Caller, access: Access | PathAccess) -> bool:
        return self._rights.get((caller, access), lambda: (self._may(caller, access),))[0]

    def _who(self, token: str) -> Caller | None:
        with self._room:
            return who(self._cluster, token)

    def _may(self, caller: Caller, access: Access | PathAccess) -> bool:
        with self._room:
            return may(self._cluster, caller, access)


def bearer(authorization: str | None) -> str:
    """The token of an `Authorization` header; empty where it has none."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def metrics_guard(reviews: Reviews) -> Callable[[str | None], int]:
    """The HTTP status for a request of /metrics with this `Authorization` header, after a review by the API server."""

    def status(authorization: str | None) -> int:
        try:
            caller = reviews.who(bearer(authorization))
            if caller is None:
                return 401
            return 200 if reviews.may(caller, _METRICS) else 403
        except ClusterError:
            return 503

    return status
