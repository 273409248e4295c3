"""Samples the recent usage of LocalQueues, and restores it from their status after a restart.

`StatusController` writes the sample to the status. Only the leader samples; a standby reads what the leader wrote.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from reconciler.controllers.local_usage import begin, followed, remember, sample
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.watched import LOCAL_QUEUE_VIEW
from reconciler.shards.partition import WORK_AT
from scheduling.world.world import World


class UsageController(Controller):
    """Samples usage. `now` is in nanoseconds in all methods."""

    watched = (LOCAL_QUEUE_VIEW,)

    def __init__(self, world: World) -> None:
        self._world = world
        self._moments: list[tuple[int, str]] = []
        self._sampled: set[str] = set()
        self._begun: set[str] = set()

    def observe(self, observed: Observed[object]) -> None:
        key = observed.key[1]
        if observed.value is None:
            self._sampled.discard(key)
            self._begun.discard(key)
            return
        if observed.stored is not None:
            remember(self._world, key, observed.stored.status)
        if key not in self._sampled:
            self._sampled.add(key)
            heapq.heappush(self._moments, (0, key))

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Take the samples that are due for LocalQueues of this part. This controller writes nothing itself."""
        now = whole_second(now)
        while self._moments and self._moments[0][0] <= now:
            _, key = heapq.heappop(self._moments)
            if key in self._sampled and busy(WORK_AT, key):
                self._begun.discard(key)  # another part samples it and stores the usage in the status
                yield WaitFor((LOCAL_QUEUE_VIEW.kind, key), (WORK_AT, key))
                continue
            if key in self._sampled and key not in self._begun and followed(self._world, key):
                self._begun.add(key)
                begin(self._world, key, now)
            left = sample(self._world, key, now) if key in self._sampled else None
            if left is None:
                self._sampled.discard(key)
            else:
                heapq.heappush(self._moments, (now + left, key))

    def wake(self, item: Key) -> None:
        heapq.heappush(self._moments, (0, item[1]))
