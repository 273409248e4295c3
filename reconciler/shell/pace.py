"""The pace of the loop: after a turn it collects messages for about as long as the turn took.

A cycle costs the same whether one workload released quota or ten. If cycles are expensive and messages never stop, the
loop collects messages for as long as the turn took. So the threads of watches and writes get half of the time. If
cycles are cheap, the loop collects messages for a few milliseconds, about as long as a write takes. After an idle
period the loop does not wait.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self, TypeVar

T = TypeVar("T")
_LONGEST = 0.1
"""The longest time in seconds that messages are collected."""
_SHORTEST = 0.005
"""The shortest time in seconds that messages are collected, about as long as the API server needs for a write."""
_HEARD = 5.0
"""The most seconds that are spent on messages before the next turn, if messages never stop."""


class RoundPace:
    """A context manager around the work of a round.

    `took`: the duration of the round in seconds, including the messages processed before it, but not the waiting.
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
        """Process the messages.

        `first`: seconds to wait for the first message.
        `rest`: returns the most seconds to wait for another message; called after each message.
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
