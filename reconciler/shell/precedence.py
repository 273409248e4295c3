"""Holds back writes that only report, such as statuses of queues, until the other writes pause.

The writes that start a job follow each other within milliseconds. A report between two of them takes processor time
from the API server, and so delays the job. So a report waits until no write with precedence has been in flight for a
moment. It does not wait long: while writes never stop, a few reports are written beside them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PAUSE = 0.02
"""Seconds without a write with precedence after which no other is expected soon."""
_PATIENCE = 0.1
"""The most seconds that a report waits for such a pause."""


class ReportPrecedence:
    """Delays reports. Any thread may use it.

    `beside`: returns how many reports may be in flight together with a write with precedence.
    `pause`, `patience`: see `_PAUSE` and `_PATIENCE`.
    """

    def __init__(self, beside: Callable[[], int], pause: float = _PAUSE, patience: float = _PATIENCE) -> None:
        self._beside = beside
        self._pause = pause
        self._patience = patience
        self._changed = threading.Condition()
        self._in_flight = 0
        self._done_at = float("-inf")
        self._reports_in_flight = 0
        self._ended = False

    def begin(self) -> None:
        """A write with precedence is about to begin."""
        with self._changed:
            self._in_flight += 1

    def done(self) -> None:
        """The write with precedence is done, or was dropped."""
        with self._changed:
            self._in_flight -= 1
            self._done_at = time.monotonic()
            if not self._in_flight:
                self._changed.notify_all()

    @contextmanager
    def report(self, asked_at: float) -> Iterator[None]:
        """Wait until a report may be written. `asked_at`: when the report was requested, by `time.monotonic`."""
        with self._changed:
            while (wait := self._wait(time.monotonic(), asked_at + self._patience)) != 0:
                self._changed.wait(wait)
            self._reports_in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._reports_in_flight -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Stop: reports no longer wait."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _wait(self, now: float, patient_until: float) -> float | None:
        """Seconds to wait before a report may begin or this is called again. 0: it may begin. None: until a change."""
        if self._ended:
            return 0
        if not self._in_flight:
            return max(0, min(self._done_at + self._pause, patient_until) - now)
        if now < patient_until:
            return patient_until - now
        return 0 if self._reports_in_flight < self._beside() else None
