"""The worker threads: they answer the requests that the thread of the connections does not answer itself."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

LARGE = 256 * 1024
"""Bytes. A body of this size or more takes much memory and time, so only one thread judges such bodies, in turn."""


class Threads:
    """A pool of threads. The requests of one author take at most half of it, so other authors never wait for them.

    Large bodies are the exception: all authors wait for the one thread that judges them.
    """

    def __init__(self, count: int) -> None:
        self._share = max(1, count // 2)
        self._pool = ThreadPoolExecutor(count, "judge")
        self._large = ThreadPoolExecutor(1, "judge-large")
        self._lock = threading.Lock()
        self._running = Counter[str]()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def submit(self, size: int, work: Callable[[], None], author: str = "") -> None:
        """Have the work done by a thread.

        `size`: the bytes of the request's body.
        `author`: the user who sent it; empty if that is not known yet.
        """
        if size >= LARGE:
            self._large.submit(work)
            return
        with self._lock:
            if self._running[author] >= self._share:
                self._waiting.setdefault(author, deque()).append(work)
                return
            self._running[author] += 1
        self._pool.submit(self._run, author, work)

    def close(self) -> None:
        """Start no more work, and do not wait for running work."""
        for pool in (self._pool, self._large):
            pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, author: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            if (following := self._next(author)) is not None:
                with contextlib.suppress(RuntimeError):  # the pool has ended
                    self._pool.submit(following)

    def _next(self, author: str) -> Callable[[], None] | None:
        """The next waiting work of the author; None if there is none."""
        with self._lock:
            waiting = self._waiting.get(author)
            if waiting:
                return partial(self._run, author, waiting.popleft())
            self._waiting.pop(author, None)
            self._running[author] -= 1
            if not self._running[author]:
                del self._running[author]
            return None
