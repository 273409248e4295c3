"""When to connect to a worker, and how long to wait after a failure. Times are arguments, so no clock is needed.

Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue, multikueuecluster.go.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scheduling.objects.times import SECOND

RETRY, STEPS = 5 * SECOND, 7
"""The first wait after a failure, and how often it doubles at most: from 5 s to 5 min 20 s."""
PATIENCE, MOST_PATIENCE = 60 * SECOND, 600 * SECOND
"""How long everything on a worker may take to be listed. It doubles after each failure, because caches may be cold."""

Step: TypeAlias = Literal["keep", "connect", "wait"]


def wait_after(failures: int) -> int:
    """Nanoseconds until the next attempt, after this number of failures in a row."""
    return RETRY << (min(failures, STEPS) - 1) if failures else 0


def patience_after(failures: int) -> int:
    """Nanoseconds that an attempt may take, after this number of failures in a row."""
    return min(MOST_PATIENCE, PATIENCE << min(failures, STEPS))


@dataclass
class Link:
    """The attempts to reach one worker.

    `content`: the kubeconfig.
    `connected`: whether the last attempt succeeded and the connection is not lost.
    `failures`: how many attempts in a row have failed.
    `retry_at`: when the next attempt is due, in nanoseconds.
    `jitter`: waits are longer by up to this fraction, so that workers that were lost together are not retried together.
    `longest`: the longest wait in nanoseconds, without the jitter.
    `chance`: the source of random numbers.
    """

    content: str = ""
    connected: bool = False
    failures: int = 0
    retry_at: int = 0
    jitter: float = 0.0
    longest: int = wait_after(STEPS)
    chance: random.Random = field(default_factory=random.Random)

    def step(self, content: str, now: int) -> Step:
        """What to do with this kubeconfig now. If it has changed, connect at once."""
        if content != self.content:
            self.content, self.failures, self.retry_at, self.connected = content, 0, 0, False
            return "connect"
        if self.connected:
            return "keep"
        return "wait" if now < self.retry_at else "connect"

    def made(self) -> None:
        self.connected, self.failures, self.retry_at = True, 0, 0

    def failed(self, now: int) -> int:
        """An attempt failed. Returns the time of the next one."""
        self.failures += 1
        self.retry_at = now + int(
            min(wait_after(self.failures), self.longest) * (1 + self.chance.uniform(0, self.jitter))
        )
        self.connected = False
        return self.retry_at

    def lost(self) -> None:
        """An open connection broke. The first attempt to reopen it is due at once."""
        self.connected, self.failures, self.retry_at = False, 0, 0
