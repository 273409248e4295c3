"""Writes that only report use all threads they have while nothing else is written, and a few beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReportPrecedence:
    """`beside`: so many reports at a time while something that goes before them is under way. For any thread."""

    def __init__(self, beside: int) -> None:
        self._beside = beside
        self._changed = threading.Condition()
        self._before = 0
        self._reports = 0
        self._ended = False

    def begin(self) -> None:
        """Something is to be written that goes before reports."""
        with self._changed:
            self._before += 1

    def done(self) -> None:
        """It is written, or never will be."""
        with self._changed:
            self._before -= 1
            if not self._before:
                self._changed.notify_all()

    @contextmanager
    def report(self) -> Iterator[None]:
        """Waits until a report may be written."""
        with self._changed:
            self._changed.wait_for(lambda: not self._before or self._reports < self._beside or self._ended)
            self._reports += 1
        try:
            yield
        finally:
            with self._changed:
                self._reports -= 1
                self._changed.notify()

    def end(self) -> None:
        """Nobody waits any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
