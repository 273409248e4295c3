"""Remembers authors of changes that were not stored, and measures how long the API server takes to store one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

REMEMBERED_SECONDS = 3600.0
"""How long an author is remembered for a change that was not stored, counted from when a replica first saw the key."""
MOST_AUTHORS = 64
"""The number of authors that are remembered. If there are more, the oldest are forgotten."""

APART_SECONDS = 0.5
"""How much longer a remembered author waits for own entries than other users do, so that the others come first."""

REPEATED_SECONDS = 1.0
"""If a client repeats a request after this time, the first request was not stored. A client that repeats it sooner may
have lost the answer."""

_KEY = "wasted/"
_MEASURED = 8
"""The number of changes to measure before `usual` uses the measurements."""
_UNKNOWN = 10.0
"""The duration before enough changes are measured, in seconds: the default timeout of a webhook, for which the API
server may wait before it stores a change."""
_SHORTEST = 1.0
_MARGIN = 2.0
"""`usual` is this many times the second longest duration, so that a single slow write does not count."""


@lru_cache(maxsize=1024)
def author_key(author: str) -> str:
    """The key of a remembered author among the watermarks. Replicas of earlier versions ignore such a key."""
    return _KEY + sha256(author.encode()).hexdigest()[:16]


def is_author_key(key: str) -> bool:
    return key.startswith(_KEY)


def surplus_authors(keys: Iterable[str], ages: Mapping[str, float], added: Iterable[str]) -> list[str]:
    """The keys of the oldest authors to forget, so that no more than MOST_AUTHORS remain. `ages`: in seconds."""
    kept = {each for each in keys if is_author_key(each)}.difference(added)
    surplus = len(kept) + len(set(added)) - MOST_AUTHORS
    return sorted(kept, key=lambda each: ages.get(each, 0.0), reverse=True)[: max(0, surplus)]


class StoreTimes:
    """How long the API server took to store each of the last changes: from its entry to its watch event."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=64)
        self._counted: set[str] = set()
        self._usual = _UNKNOWN  # read by threads without a lock

    def note(self, request: str, seconds: float) -> None:
        """Count the duration of a request, once for each request."""
        if request not in self._counted:
            self._counted.add(request)
            self._last.append(seconds)
            if len(self._last) >= _MEASURED:
                self._usual = max(_SHORTEST, _MARGIN * sorted(self._last)[-2])

    def keep(self, requests: Iterable[str]) -> None:
        """Forget that requests were counted, except these."""
        self._counted.intersection_update(requests)

    def usual(self) -> float:
        """The seconds after which a change that is not stored will most likely never be."""
        return self._usual
