"""When workloads that hold quota are placed: those whose places were delayed, and those that lost a node.

Source: Kueue v0.19, pkg/cache/queue, the second pass queue.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from scheduling.objects.times import SECOND

_FIRST, _LONGEST = SECOND, 30 * SECOND
"""The wait before the first attempt, and the longest one between two. Each is twice as long as the one before."""


@dataclass(slots=True)
class _Wait:
    at: int
    last: int


class SecondPasses:
    """The next attempt of each workload that needs one. Moments are in nanoseconds.

    A process that starts anew begins with the first attempt: nothing is stored of those before.
    """

    def __init__(self) -> None:
        self._waits: dict[str, _Wait] = {}

    def due_at(self, name: str, now: int) -> int:
        """When the workload is placed; the first call begins the wait."""
        return self._waits.setdefault(name, _Wait(now + _FIRST, _FIRST)).at

    def failed(self, name: str, now: int) -> int:
        """An attempt found no places: when the next one is."""
        wait = self._waits[name]
        wait.last = min(2 * wait.last, _LONGEST)
        wait.at = now + wait.last
        return wait.at

    def end(self, name: str) -> None:
        """The workload needs no attempt."""
        self._waits.pop(name, None)

    def forget_gone(self, workloads: Container[str]) -> None:
        """Forget all but these workloads."""
        for name in [each for each in self._waits if each not in workloads]:
            del self._waits[name]
