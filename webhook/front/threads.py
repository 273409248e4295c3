"""The threads that judge what is not judged where the connections are held."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

LARGE = 256 * 1024
"""Bytes of a body that waits for a lane of its own, where one is judged at a time: they take memory and time."""


class Threads:
    def __init__(self, count: int) -> None:
        self._many = ThreadPoolExecutor(count, "judge")
        self._lane = ThreadPoolExecutor(1, "judge-large")

    def submit(self, size: int, work: Callable[[], None]) -> None:
        """Have it done, for a body of `size` bytes."""
        (self._lane if size >= LARGE else self._many).submit(work)

    def close(self) -> None:
        """Begin nothing more, and wait for nothing."""
        for pool in (self._many, self._lane):
            pool.shutdown(wait=False, cancel_futures=True)
