"""When workloads with quota are assigned to places: after a delayed assignment, or after the loss of a node.

Source: Kueue v0.19, pkg/cache/queue, the second pass queue.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from scheduling.objects.times import SECOND

_FIRST, _LONGEST = SECOND, 30 * SECOND
"""The delay before the first attempt, and the longest delay between two attempts. Each is twice the one before."""


@dataclass(slots=True)
class _Wait:
    at: int
    last: int


class SecondPasses:
    """The next attempt of each workload that needs one. Times are in nanoseconds.

    Attempts are not stored, so a new process begins with the first one.
    """

    def __init__(self) -> None:
        self._waits: dict[str, _Wait] = {}

    def due_at(self, name: str, now: int) -> int:
        """The time of the next attempt. The first call for a workload begins its delay."""
        return self._waits.setdefault(name, _Wait(now + _FIRST, _FIRST)).at

    def failed(self, name: str, now: int) -> int:
        """An attempt found no places. Returns the time of the next one."""
        wait = self._waits[name]
        wait.last = min(2 * wait.last, _LONGEST)
        wait.at = now + wait.last
        return wait.at

    def end(self, name: str) -> None:
        self._waits.pop(name, None)

    def forget_gone(self, workloads: Container[str]) -> None:
        for name in [each for each in self._waits if each not in workloads]:
            del self._waits[name]
