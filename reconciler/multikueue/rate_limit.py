"""Limits the number of requests per second, from any number of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RequestRate:
    """`rate` per second, 0: no limit; after a pause `burst` at once, 0: one second's worth."""

    def __init__(
        self,
        rate: float,
        burst: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._each = 1.0 / rate if rate > 0 else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._saved = burst * self._each if burst else 1.0
        self._next = clock() - self._saved

    def wait(self) -> None:
        """Return when it is the caller's turn."""
        with self._lock:
            now = self._clock()
            write = self._next = max(self._next + self._each, now - self._saved)
        if write > now:
            self._sleep(write - now)
