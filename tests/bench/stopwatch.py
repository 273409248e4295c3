"""The processor time of short pieces of work; other processes disturb it less than the wall time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median


class Stopwatch:
    """A list of measurements, one for each `lap`."""

    def __init__(self) -> None:
        self.laps: list[int] = []

    @contextmanager
    def lap(self) -> Iterator[None]:
        started = time.process_time_ns()
        yield
        self.laps.append(time.process_time_ns() - started)

    @property
    def micros(self) -> float:
        """The median of the laps in microseconds."""
        return median(self.laps) / 1_000

    @property
    def millis(self) -> float:
        return self.micros / 1_000
