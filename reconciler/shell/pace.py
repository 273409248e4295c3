"""How often the loop acts: it listens about as long as it acts, and a few milliseconds where it acted just now.

A cycle costs the same whether one workload made room or ten. Where cycles are dear and news comes without end, so much
of it is taken together that half of the time is left to those who read watches and send writes. Where they are cheap,
news that comes within a few milliseconds shares a round, since a write takes as long. After a rest nobody waits.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self, TypeVar

T = TypeVar("T")
_LONGEST = 0.1
"""Seconds."""
_SHORTEST = 0.005
"""Seconds; about what the API server takes for a write."""
_HEARD = 5.0
"""Seconds of taking in after which it acts, where news comes faster than that."""


class RoundPace:
    """Used as a context manager around what is done in a round. `took` is how long the round was, in seconds: with what
    was taken in before, without waiting for it.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.took = 0.0
        self._clock = clock
        self._heard = 0.0
        self._began = 0.0
        self._until = 0.0

    def __enter__(self) -> Self:
        self._began = self._clock()
        return self

    def __exit__(self, *_: object) -> None:
        ended = self._clock()
        acted = ended - self._began
        self.took = self._heard + acted
        self._until = ended + min(_LONGEST, max(_SHORTEST, acted))

    def listen(self, inbox: queue.SimpleQueue[T], take: Callable[[T], None], first: float, rest: float) -> None:
        """Take in what there is. `first`: how long the first of it is waited for, in seconds; `rest`: at most so long
        for more of it.
        """
        self._heard = 0.0
        with suppress(queue.Empty):
            self._hear(take, inbox.get(timeout=first))
            while self._heard < _HEARD:
                self._hear(take, inbox.get(timeout=max(0.0, min(rest, self._until - self._clock()))))

    def _hear(self, take: Callable[[T], None], news: T) -> None:
        began = self._clock()
        take(news)
        self._heard += self._clock() - began
