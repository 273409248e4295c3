"""The threads that judge what is not judged where the connections are held."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

LARGE = 256 * 1024
"""Bytes of a body that waits for a lane of its own, where one is judged at a time: they take memory and time."""


class Threads:
    """Requests of one author take half of the threads at most, so that others never wait for them."""

    def __init__(self, count: int) -> None:
        self._share = max(1, count // 2)
        self._many = ThreadPoolExecutor(count, "judge")
        self._lane = ThreadPoolExecutor(1, "judge-large")
        self._lock = threading.Lock()
        self._running = Counter[str]()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def submit(self, size: int, work: Callable[[], None], author: str = "") -> None:
        """Have it done, for a body of `size` bytes. `author` is empty where nobody has read yet whose it is."""
        if size >= LARGE:
            self._lane.submit(work)
            return
        with self._lock:
            if self._running[author] >= self._share:
                self._waiting.setdefault(author, deque()).append(work)
                return
            self._running[author] += 1
        self._many.submit(self._run, author, work)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing."""
        for pool in (self._many, self._lane):
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, author: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            if (following := self._next(author)) is not None:
                with contextlib.suppress(RuntimeError):  # the pool has ended
                    self._many.submit(following)

    def _next(self, author: str) -> Callable[[], None] | None:
        """What the author's thread does next; None where nothing waits."""
        with self._lock:
            waiting = self._waiting.get(author)
            if waiting:
                return partial(self._run, author, waiting.popleft())
            self._waiting.pop(author, None)
            self._running[author] -= 1
            if not self._running[author]:
                del self._running[author]
            return None
