"""Answers are kept for a moment, so that a page asks once; older ones stand in while a server is away."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cluster.errors import ApiError, ClusterError, Unreachable
from dashboard.reading.backend import Login, Manifest, Reader

FRESH = 2.0
"""Seconds for which an answer is as good as a new one."""
STALE = 300.0
"""Seconds for which an answer stands in for one that cannot be had. A right that is taken away meanwhile ends then."""
_MOST = 128


@dataclass(frozen=True, slots=True)
class Read:
    """`problem` says why it is not newer; empty where nothing is wrong."""

    answer: Manifest
    at: datetime
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: Manifest
    at: datetime
    since: float


class Kept:
    """Shared by all who look; entries are told apart by who asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[tuple[object, ...], _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, login: Login, what: tuple[object, ...], ask: Callable[[], Manifest], behind: Callable[[], float]
    ) -> Read:
        """Raises ClusterError where there is no answer, not even an older one."""
        key = (login.digest(), *what)
        with self._lock:
            entry = self._entries.get(key)
        age = self._clock() - entry.since if entry else STALE
        if entry and age < FRESH:
            return Read(entry.answer, entry.at)
        try:
            answer = ask()
        except ClusterError as error:
            if entry is None or age >= STALE or not _passing(error):
                raise
            return Read(entry.answer, entry.at, str(error))
        made = _Entry(answer, datetime.now(UTC) - timedelta(seconds=behind()), self._clock())
        with self._lock:
            self._entries[key] = made
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST:
                self._entries.popitem(last=False)
        return Read(made.answer, made.at)


class KeptReader:
    """What one request reads: `oldest` and `problems` are of everything that it has read."""

    def __init__(self, kept: Kept, login: Login, reader: Reader) -> None:
        self._kept, self._login, self.reader = kept, login, reader
        self.oldest: datetime | None = None
        self.problems: list[str] = []

    def ask(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        """See `Reader.ask`."""
        given = dict(params or {})
        return self._noted(("v1", path, *sorted(given.items())), lambda: self.reader.ask(path, given))

    def findings(self, params: Mapping[str, str] | None = None) -> Manifest:
        given = dict(params or {})
        return self._noted(("findings", *sorted(given.items())), lambda: self.reader.findings(given))

    def _noted(self, what: tuple[object, ...], ask: Callable[[], Manifest]) -> Manifest:
        read = self._kept.get(self._login, what, ask, self.reader.behind)
        self.oldest = min(self.oldest or read.at, read.at)
        if read.problem and read.problem not in self.problems:
            self.problems.append(read.problem)
        return read.answer


def _passing(error: ClusterError) -> bool:
    """Whether the server may answer later: it was not reached, is busy, or failed."""
    return isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in (429, 500, 502, 503, 504))
