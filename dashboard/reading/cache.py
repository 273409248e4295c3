"""Answers are kept for a moment, so that a page asks once; older ones stand in while a server is away."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from cluster.errors import ApiError, ClusterError, Unreachable
from cluster.resource import Resource
from dashboard.reading.backend import Manifest, UserLogin, UserReader

T = TypeVar("T")
FRESH = 2.0
"""Seconds for which an answer is as good as a new one, and for which a server that failed is left alone."""
RECENT = 10.0
"""Seconds for which an answer is good enough while a user changes pages. An open page that looks for news keeps it
newer than that, so nobody waits for the server at each step."""
STALE = 300.0
"""Seconds for which an answer stands in for one that cannot be had. A right that is taken away meanwhile ends then."""
_MOST, _MOST_MADE = 128, 16
"""Answers that are kept, and things that were made of whole trees: of 10 000 queues each takes tens of MiB."""
_MADE = "made"


@dataclass(frozen=True, slots=True)
class CachedRead:
    """`problem` says why it is not newer; empty where nothing is wrong."""

    answer: Any
    at: datetime
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """`failed`: when a newer answer could not be had, for the reason in `read`."""

    read: CachedRead
    since: float
    failed: float = float("-inf")


class AnswerCache:
    """Shared by all users; each entry belongs to one login."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[tuple[object, ...], _Entry] = OrderedDict()
        self._asking: set[tuple[object, ...]] = set()
        self._made: dict[tuple[object, ...], tuple[Manifest, Any]] = {}
        self._lock = threading.Lock()

    def get(
        self,
        login: UserLogin,
        what: tuple[object, ...],
        ask: Callable[[], Any],
        behind: Callable[[], float],
        enough: float = FRESH,
    ) -> CachedRead:
        """An answer that is at most `enough` seconds old; an older one while somebody else asks, or asking fails.

        So a server that hangs holds one thread for each question, not one for each page that is open. Raises
        ClusterError where there is no answer, not even an older one.
        """
        key = (login.digest(), *what)
        with self._lock:
            entry, now = self._entries.get(key), self._clock()
            if entry and now - entry.since >= STALE:
                entry = None
            if entry and (now - entry.since < enough or now - entry.failed < FRESH or key in self._asking):
                return entry.read
            self._asking.add(key)
        try:
            return self._asked(key, entry, ask, behind)
        finally:
            with self._lock:
                self._asking.discard(key)

    def made(self, what: tuple[object, ...], answer: Manifest, make: Callable[[Manifest], T]) -> T:
        """What was made of the last answer, also for somebody else, where this one says the same; else it is made."""
        known = self._made.get(what)
        if known is not None and known[0] == answer:
            same: T = known[1]
            return same
        found = make(answer)
        self._made[what] = answer, found
        return found

    def _asked(
        self, key: tuple[object, ...], entry: _Entry | None, ask: Callable[[], Any], behind: Callable[[], float]
    ) -> CachedRead:
        try:
            answer = ask()
        except ClusterError as error:
            if entry is None or not _passing(error):
                self._keep(key, None)
                raise
            made = replace(entry, read=replace(entry.read, problem=str(error)), failed=self._clock())
        else:
            made = _Entry(CachedRead(answer, datetime.now(UTC) - timedelta(seconds=behind())), self._clock())
        self._keep(key, made)
        return made.read

    def _keep(self, key: tuple[object, ...], entry: _Entry | None) -> None:
        """Store the entry; None removes an invalid one. Entries that are too old are removed as well."""
        with self._lock:
            self._entries.pop(key, None)
            if entry is not None:
                self._entries[key] = entry
            ended = self._clock() - STALE
            alike = [each for each in self._entries if (_MADE in each) == (_MADE in key)]
            most = _MOST_MADE if _MADE in key else _MOST
            for turn, each in enumerate(alike):
                if len(alike) - turn > most or self._entries[each].since < ended:
                    del self._entries[each]


class CachedReader:
    """What one request reads: `oldest` and `problems` are of everything that it has read.

    `enough`: see `AnswerCache.get`.
    """

    def __init__(self, cache: AnswerCache, login: UserLogin, reader: UserReader, enough: float = FRESH) -> None:
        self._cache, self._login, self.reader, self._enough = cache, login, reader, enough
        self.oldest: datetime | None = None
        self.problems: list[str] = []

    def renew(self) -> None:
        """Make this request read fresh data from here on; what it has read so far does not count."""
        self.oldest, self._enough = None, FRESH
        self.problems.clear()

    def ask(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        """See `UserReader.ask`."""
        given = dict(params or {})
        what = ("v1", path, *sorted(given.items()))
        return self._noted(what, lambda: self.reader.ask(path, given), self.reader.behind)

    def made(self, path: str, make: Callable[[Manifest], T]) -> T:
        """What is made of the answer at a path, which is kept instead of the answer."""
        what = (_MADE, path, make)
        return self._noted(what, lambda: self._cache.made(what, self.reader.ask(path), make), self.reader.behind)

    def listed(self, resource: Resource, namespace: str | None, most: int, of: str = "") -> list[Manifest]:
        """See `UserReader.listed`."""
        return self.kept((resource, namespace, most, of), lambda: self.reader.listed(resource, namespace, most, of))

    def kept(self, what: tuple[object, ...], read: Callable[[], T]) -> T:
        """What `read` finds: objects as they are now, or findings, which say when they were judged."""
        return self._noted(what, read, lambda: 0.0)

    def aside(self, what: tuple[object, ...], read: Callable[[], T], seconds: float = RECENT) -> T:
        """Read what only the menu and links need. It may be `seconds` old, and the page does not count its age."""
        found: T = self._cache.get(self._login, what, read, lambda: 0.0, seconds).answer
        return found

    def findings(self, params: Mapping[str, str] | None = None) -> Manifest:
        given = dict(params or {})
        return self.kept(("findings", *sorted(given.items())), lambda: self.reader.findings(given))

    def _noted(self, what: tuple[object, ...], ask: Callable[[], T], behind: Callable[[], float]) -> T:
        read = self._cache.get(self._login, what, ask, behind, self._enough)
        self.oldest = min(self.oldest or read.at, read.at)
        if read.problem and read.problem not in self.problems:
            self.problems.append(read.problem)
        answer: T = read.answer
        return answer


def _passing(error: ClusterError) -> bool:
    """Whether the server may answer later: it was not reached, is busy, or failed."""
    return isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in (429, 500, 502, 503, 504))
