"""The pace of the loop: after a turn it listens about as long as the turn took, or for a few milliseconds.

A cycle costs the same whether one workload released quota or ten. If cycles are expensive and news never stops, news is
collected for so long that the threads of watches and writes get half of the time. If cycles are cheap, news within a
few milliseconds shares a round, because a write takes as long. After an idle period the loop does not wait.
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
"""Seconds; about the time that the API server needs for a write."""
_HEARD = 5.0
"""The longest time in seconds that the loop listens before it acts, if news never stops."""


class RoundPace:
    """A context manager around the work of a round.

    `took`: the duration of the round in seconds, with the messages taken in before it, without waiting.
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

    def listen(
        self, inbox: queue.SimpleQueue[T], take: Callable[[T], None], first: float, rest: Callable[[], float]
    ) -> None:
        """Take in the messages.

        `first`: seconds to wait for the first message.
        `rest`: at most so many seconds for more of them; asked after each.
        """
        self._heard = 0.0
        with suppress(queue.Empty):
            self._hear(take, inbox.get(timeout=first))
            while self._heard < _HEARD:
                self._hear(take, inbox.get(timeout=max(0.0, min(rest(), self._until - self._clock()))))

    def _hear(self, take: Callable[[T], None], news: T) -> None:
        began = self._clock()
        take(news)
        self._heard += self._clock() - began
