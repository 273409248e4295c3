"""Limits the number of requests per second. Many threads may share the limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RequestRate:
    """The limit.

    `rate`: requests per second; 0 for no limit.
    `burst`: the requests that may follow at once after a pause; 0 for those of one second.
    """

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
        with self._lock:
            now = self._clock()
            write = self._next = max(self._next + self._each, now - self._saved)
        if write > now:
            self._sleep(write - now)
