"""Writes that only report use all of their threads while no other write is in flight, and few beside one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class ReportPrecedence:
    """`beside`: the number of reports at a time while a write with precedence is in flight. For any thread."""

    def __init__(self, beside: Callable[[], int]) -> None:
        self._beside = beside
        self._changed = threading.Condition()
        self._before = 0
        self._reports = 0
        self._ended = False

    def begin(self) -> None:
        """A write with precedence is about to begin."""
        with self._changed:
            self._before += 1

    def done(self) -> None:
        """The write with precedence is done, or dropped."""
        with self._changed:
            self._before -= 1
            if not self._before:
                self._changed.notify_all()

    @contextmanager
    def report(self) -> Iterator[None]:
        """Wait until a report may be written."""
        with self._changed:
            self._changed.wait_for(lambda: not self._before or self._reports < self._beside() or self._ended)
            self._reports += 1
        try:
            yield
        finally:
            with self._changed:
                self._reports -= 1
                self._changed.notify(self._beside())

    def end(self) -> None:
        """Stop: no report waits any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
