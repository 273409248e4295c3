"""Measures how long it takes to stop jobs that another client started without quota."""

from __future__ import annotations

from reconciler.objects.bypasses import Bypasses
from reconciler.objects.observed import Key

RAN = "RanWithoutQuota"


class Halting:
    """Follows each job from the first write that stops it, until no such write is needed or the job is gone."""

    def __init__(self, bypasses: Bypasses) -> None:
        self._bypasses = bypasses
        self._gone: list[Key] = []

    def gone(self, key: Key) -> None:
        if len(self._bypasses):
            self._gone.append(key)

    def turn(self, now: int) -> None:
        """Begin a turn, after all that was observed."""
        for key in self._gone:
            self._bypasses.end(key, RAN, now)
        self._gone.clear()

    def looked(self, key: Key, runs: bool, now: int) -> None:
        """The job was looked at. `runs`: a write is needed to stop it."""
        if runs:
            self._bypasses.seen(key, RAN, now)
        elif len(self._bypasses):
            self._bypasses.end(key, RAN, now)
