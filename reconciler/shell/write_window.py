"""How many writes are in flight at a time: more while responses take long, fewer while the API server fails.

By Little's law a rate of writes needs `latency * rate` writes in flight. Eight suffice while responses take 5 to 20 ms.
If responses take two seconds, as in a flood of creations, eight would be only four writes a second. So the number
follows the latency of the last writes, up to a limit, at the default rate of Kueue's client. A slow API server gets no
higher rate than that. After a failure the number is halved, and each success adds a fraction of one, as in TCP.
Failures of writes that were in flight together count once.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from cluster.errors import ApiError, Unreachable

LEAST, MOST = 8, 128
"""The writes in flight while the API server responds quickly, and the most while it responds slowly."""
_RATE = 50.0
"""Writes a second, the default `clientConnection.qps` of Kueue."""
_SHARE = 0.1
"""The weight of the last response in the average latency."""
_OVERLOADED = (429, 500, 503, 504)
Write: TypeAlias = Callable[[], Exception | None]
"""Sends one write and reports its result. Returns the error, if there was one; it must not raise."""


class WriteWindow:
    """Runs writes in the threads of a pool, in the order in which they were put. Any thread may use it.

    `clock`: returns seconds.
    """

    def __init__(self, pool: ThreadPoolExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[Write] = deque()
        self._under_way = 0
        self._latency = 0.0
        self._allowed = float(MOST)
        self._halved_at = float("-inf")

    @property
    def size(self) -> int:
        """The number of writes that may be in flight now."""
        wanted = min(MOST, max(LEAST, math.ceil(self._latency * _RATE)))
        return max(1, min(wanted, int(self._allowed)))

    def put(self, write: Write) -> None:
        with self._lock:
            self._waiting.append(write)
        self._begin()

    def drop(self) -> None:
        """Drop the writes that have not begun."""
        with self._lock:
            self._waiting.clear()

    def _begin(self) -> None:
        """Start a thread for each waiting write, as far as the window allows."""
        with self._lock:
            free = min(self.size - self._under_way, len(self._waiting))
            writes = [self._waiting.popleft() for _ in range(free)]
            self._under_way += len(writes)
        for write in writes:
            self._pool.submit(self._work, write)

    def _work(self, first: Write) -> None:
        """Send one write, then the next one in the same thread."""
        write: Write | None = first
        while write is not None:
            began = self._clock()
            error = write()
            write = self._next(began, error)
            if write is not None:
                self._begin()

    def _next(self, began: float, error: Exception | None) -> Write | None:
        with self._lock:
            self._adapt(began, error)
            if self._waiting and self._under_way <= self.size:
                return self._waiting.popleft()
            self._under_way -= 1
            return None

    def _adapt(self, began: float, error: Exception | None) -> None:
        now = self._clock()
        self._latency += _SHARE * (now - began - self._latency)
        if not isinstance(error, Unreachable) and not (isinstance(error, ApiError) and error.status in _OVERLOADED):
            self._allowed = min(float(MOST), self._allowed + 1 / self._allowed)
        elif began >= self._halved_at:
            self._allowed = max(1.0, self.size / 2)
            self._halved_at = now
