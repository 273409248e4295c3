"""What LocalQueues used of late, in the loop: sampled in time, read back from their status after a restart.

The sample shows in the status, which `StatusSide` writes. Only who writes samples; a standby reads what is written.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reconciler.feed import Followed, Seen, by_kind
from reconciler.jobs.step import JobSurroundings
from reconciler.local_usage import remember, sample
from reconciler.side import Busy, Turn
from reconciler.stored import Stored
from scheduling.world.world import World

LOCAL_QUEUE = by_kind()["LocalQueue"]


class UsageSide:
    """`now` in nanoseconds, as everywhere."""

    followed: tuple[Followed, ...] = (LOCAL_QUEUE,)

    def __init__(self, world: World) -> None:
        self._world = world
        self._moments: list[tuple[int, str]] = []
        self._sampled: set[str] = set()

    def see(self, seen: Seen) -> None:
        key = seen.key[1]
        if seen.value is None:
            self._sampled.discard(key)
            return
        if isinstance(seen.aside, Stored):
            remember(self._world, key, seen.aside.status)
        if key not in self._sampled:
            self._sampled.add(key)
            heapq.heappush(self._moments, (0, key))

    def touch(self, workload: str) -> None:
        """What a workload holds is asked of the world when a sample is taken."""

    def renew(self, around: JobSurroundings) -> None:
        """No sample depends on it."""

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        """Nothing is written here: the samples that are due are taken."""
        del busy
        while self._moments and self._moments[0][0] <= now:
            _, key = heapq.heappop(self._moments)
            left = sample(self._world, key, now) if key in self._sampled else None
            if left is None:
                self._sampled.discard(key)
            else:
                heapq.heappush(self._moments, (now + left, key))
        yield from ()
