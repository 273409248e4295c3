"""Remembers authors whose changes came to nothing, and measures how long the API server takes to store a change."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

WASTED_SECONDS = 3600.0
"""How long an author is known for an entry that came to nothing, from when each replica saw the mark first."""
MOST_AUTHORS = 64
"""Authors with a mark; of more, those that were marked first are forgotten."""

APART_SECONDS = 0.5
"""After the room of an entry is lent, its author waits so much longer, so that those who wait for room come first."""

REPEATED_SECONDS = 1.0
"""The age of an entry whose author asks for the same again, from which on it came to nothing: a client that tries again
at once may have lost an answer."""

_MARK = "wasted/"
_MEASURED = 8
"""Changes whose time was measured before it counts as usual."""
_UNKNOWN = 10.0
"""Seconds; the default timeout of a webhook, for which the API server may wait before it stores a change."""
_SHORTEST = 1.0
_MARGIN = 2.0


@lru_cache(maxsize=1024)
def place(author: str) -> str:
    """The key of an author's mark in the ledger. Replicas of earlier versions pass over it."""
    return _MARK + sha256(author.encode()).hexdigest()[:16]


def is_waste(place: str) -> bool:
    return place.startswith(_MARK)


def beyond(marks: Iterable[str], ages: Mapping[str, float], added: Iterable[str]) -> list[str]:
    """The marks of authors that have to go, so that no more than MOST_AUTHORS remain. `ages` in seconds."""
    kept = {each for each in marks if is_waste(each)}.difference(added)
    surplus = len(kept) + len(set(added)) - MOST_AUTHORS
    return sorted(kept, key=lambda each: ages.get(each, 0.0), reverse=True)[: max(0, surplus)]


class StoreTimes:
    """How long the last changes took from when their entries were seen until a watch showed the objects."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=64)
        self._counted: set[str] = set()
        self._usual = _UNKNOWN  # asked for by threads that have no turn

    def note(self, request: str, seconds: float) -> None:
        """Each request counts once."""
        if request not in self._counted:
            self._counted.add(request)
            self._last.append(seconds)
            if len(self._last) >= _MEASURED:
                self._usual = max(_SHORTEST, _MARGIN * max(self._last))

    def keep(self, requests: Iterable[str]) -> None:
        """Forget which requests were counted, but for these."""
        self._counted.intersection_update(requests)

    def usual(self) -> float:
        """Seconds after which a change that is not stored most likely never will be."""
        return self._usual
