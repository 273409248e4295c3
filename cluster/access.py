"""Authenticates and authorizes callers with TokenReviews and SubjectAccessReviews, and caches the results.

A revoked right ends at most `KEPT` seconds later. The cache has hashes of tokens, not the tokens.
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
"""Seconds for which a result of the API server is cached."""
REVIEW_TIMEOUTS = Timeouts(connect=3.0, read=5.0)
"""The timeouts of a client for reviews. They are short, since the caller waits for the review."""
_MOST = 4096
"""The maximum number of cached results. The oldest are dropped first."""
_AT_ONCE = 4
"""The maximum number of concurrent reviews: callers with invalid tokens must not starve the reconciler."""
_LONGEST = 16 * 1024
"""The maximum length of a token, in characters."""
_METRICS = PathAccess("get", "/metrics")
T = TypeVar("T")


class ExpiringCache(Generic[T]):
    """A thread-safe cache of at most `most` values. Each value expires after `seconds`."""

    def __init__(self, seconds: float, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._answers: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, question: Hashable, find_out: Callable[[], T]) -> T:
        """The cached value for `question`; otherwise calls `find_out` and caches its result, but not an exception."""
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
    """Cached reviews by the API server of `cluster`. Methods raise ClusterError if a review fails."""

    def __init__(self, cluster: ClusterClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster = cluster
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._callers: ExpiringCache[tuple[Caller | None]] = ExpiringCache(KEPT, _MOST, clock)
        self._rights: ExpiringCache[tuple[bool]] = ExpiringCache(KEPT, _MOST, clock)

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
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def metrics_guard(reviews: Reviews) -> Callable[[str | None], int]:
    """A function from the `Authorization` header of a request for /metrics to its HTTP status: 200, 401, 403 or 503."""

    def status(authorization: str | None) -> int:
        try:
            caller = reviews.who(bearer(authorization))
            if caller is None:
                return 401
            return 200 if reviews.may(caller, _METRICS) else 403
        except ClusterError:
            return 503

    return status
