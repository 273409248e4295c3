"""When writes that only report begin: while no other write is in flight or just was, and few beside one.

The writes that start a job follow each other within milliseconds. A report between two of them takes processor time
from the API server that the job waits for. After a short while reports no longer wait for such a pause, so that none is
late while writes never stop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PAUSE = 0.02
"""Seconds without a write with precedence, after which no other is expected."""
_PATIENCE = 0.1
"""Seconds that a report waits for such a pause."""


class ReportPrecedence:
    """For any thread.

    `beside`: the number of reports at a time while a write with precedence is in flight.
    `pause`, `patience`: seconds, see above.
    """

    def __init__(self, beside: Callable[[], int], pause: float = _PAUSE, patience: float = _PATIENCE) -> None:
        self._beside = beside
        self._pause = pause
        self._patience = patience
        self._changed = threading.Condition()
        self._before = 0
        self._done_at = float("-inf")
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
            self._done_at = time.monotonic()
            if not self._before:
                self._changed.notify_all()

    @contextmanager
    def report(self, asked_at: float) -> Iterator[None]:
        """Wait until a report may be written. `asked_at`: when it was asked for, by `time.monotonic`."""
        with self._changed:
            while (wait := self._wait(time.monotonic(), asked_at + self._patience)) != 0:
                self._changed.wait(wait)
            self._reports += 1
        try:
            yield
        finally:
            with self._changed:
                self._reports -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Stop: no report waits any more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _wait(self, now: float, patient_until: float) -> float | None:
        """The seconds after which a report may begin or has to ask again; 0 for now, None for after the next change."""
        if self._ended:
            return 0
        if not self._before:
            return max(0, min(self._done_at + self._pause, patient_until) - now)
        if now < patient_until:
            return patient_until - now
        return 0 if self._reports < self._beside() else None
