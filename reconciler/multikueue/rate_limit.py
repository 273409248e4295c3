"""Limits the number of requests per second, from any number of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RequestRate:
    """`rate` per second; after a pause up to one second's worth at once. 0: no limit."""

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._each = 1.0 / rate if rate > 0 else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock() - 1.0

    def wait(self) -> None:
        """Return when it is the caller's turn."""
        with self._lock:
            now = self._clock()
            write = self._next = max(self._next + self._each, now - 1.0)
        if write > now:
            self._sleep(write - now)
