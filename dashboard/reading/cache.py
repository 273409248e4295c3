"""Caches responses for a short time, so that a page reads each only once. While a server is down, old ones are used."""

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
"""Seconds for which a response counts as fresh, and for which a failed server is not called again."""
RECENT = 10.0
"""Seconds for which a cached response is used when a user opens another page.

An open page updates itself more often, so that users rarely wait for the server when they change pages.
"""
STALE = 300.0
"""Seconds for which an old response is used while the server is down. A revoked right ends then at the latest."""
_MOST, _MOST_MADE = 128, 16
"""The maximum numbers of cached responses, and of objects computed from whole trees.

Such an object takes tens of MiB for 10 000 queues.
"""
_MADE = "made"


@dataclass(frozen=True, slots=True)
class CachedRead:
    """A response from the cache. `at`: when its data was read. `problem`: why there is no newer one; empty if fine."""

    answer: Any
    at: datetime
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the cache. `since`: when it was read. `failed`: when the last attempt to renew it failed."""

    read: CachedRead
    since: float
    failed: float = float("-inf")


class AnswerCache:
    """A cache of responses that all users share. Each entry belongs to one login."""

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
        """A response that is at most `enough` seconds old.

        While another thread renews it, or if that fails, it may be older. Therefore a server that hangs blocks one
        thread for each request, not one for each open page.
        `what`: identifies the request. `ask`: sends it. `behind`: see `UserReader.behind`.
        Raises ClusterError if there is no response, not even an older one.
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
            return self._renewed(key, entry, ask, behind)
        finally:
            with self._lock:
                self._asking.discard(key)

    def made(self, what: tuple[object, ...], answer: Manifest, make: Callable[[Manifest], T]) -> T:
        """The result of `make` for the response. It is cached for all users as long as the response is the same."""
        known = self._made.get(what)
        if known is not None and known[0] == answer:
            same: T = known[1]
            return same
        found = make(answer)
        self._made[what] = answer, found
        return found

    def _renewed(
        self, key: tuple[object, ...], entry: _Entry | None, ask: Callable[[], Any], behind: Callable[[], float]
    ) -> CachedRead:
        try:
            answer = ask()
        except ClusterError as error:
            if entry is None or not _is_temporary(error):
                self._keep(key, None)
                raise
            made = replace(entry, read=replace(entry.read, problem=str(error)), failed=self._clock())
        else:
            made = _Entry(CachedRead(answer, datetime.now(UTC) - timedelta(seconds=behind())), self._clock())
        self._keep(key, made)
        return made.read

    def _keep(self, key: tuple[object, ...], entry: _Entry | None) -> None:
        """Store the entry, or remove the old one if it is None. Entries that are too old are also removed."""
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
    """Reads the data of one page through the cache.

    `oldest`: when the oldest data that was read so far is from. `problems`: the problems of all reads so far.
    `enough`: see `AnswerCache.get`.
    """

    def __init__(self, cache: AnswerCache, login: UserLogin, reader: UserReader, enough: float = FRESH) -> None:
        self._cache, self._login, self.reader, self._enough = cache, login, reader, enough
        self.oldest: datetime | None = None
        self.problems: list[str] = []

    def renew(self) -> None:
        """Read fresh data from now on, and forget the age and problems of earlier reads."""
        self.oldest, self._enough = None, FRESH
        self.problems.clear()

    def ask(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        given = dict(params or {})
        what = ("v1", path, *sorted(given.items()))
        return self._recorded(what, lambda: self.reader.ask(path, given), self.reader.behind)

    def made(self, path: str, make: Callable[[Manifest], T]) -> T:
        """The result of `make` for the response at a path of /v1. The result is cached instead of the response."""
        what = (_MADE, path, make)
        return self._recorded(what, lambda: self._cache.made(what, self.reader.ask(path), make), self.reader.behind)

    def listed(self, resource: Resource, namespace: str | None, most: int, of: str = "") -> list[Manifest]:
        return self.kept((resource, namespace, most, of), lambda: self.reader.listed(resource, namespace, most, of))

    def kept(self, what: tuple[object, ...], read: Callable[[], T]) -> T:
        """The cached result of `read`. Use it for data that is current when it is read, such as stored objects."""
        return self._recorded(what, read, lambda: 0.0)

    def aside(self, what: tuple[object, ...], read: Callable[[], T], seconds: float = RECENT) -> T:
        """Read data for the menu and links. It may be `seconds` old, and its age does not count for the page."""
        found: T = self._cache.get(self._login, what, read, lambda: 0.0, seconds).answer
        return found

    def findings(self, params: Mapping[str, str] | None = None) -> Manifest:
        given = dict(params or {})
        return self.kept(("findings", *sorted(given.items())), lambda: self.reader.findings(given))

    def _recorded(self, what: tuple[object, ...], ask: Callable[[], T], behind: Callable[[], float]) -> T:
        read = self._cache.get(self._login, what, ask, behind, self._enough)
        self.oldest = min(self.oldest or read.at, read.at)
        if read.problem and read.problem not in self.problems:
            self.problems.append(read.problem)
        answer: T = read.answer
        return answer


def _is_temporary(error: ClusterError) -> bool:
    """Whether the server may answer later: it was not reached, is busy, or failed."""
    return isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in (429, 500, 502, 503, 504))
