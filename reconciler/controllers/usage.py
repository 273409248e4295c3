"""Samples the recent usage of LocalQueues, and restores it from their status after a restart.

`StatusController` writes the sample to the status. Only the leader samples; a standby reads what the leader wrote.
"""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.controllers.local_usage import begin, followed, remember, sample
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.objects.moments import DueNames, whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.watched import LOCAL_QUEUE_VIEW
from reconciler.shards.partition import WORK_AT
from scheduling.world.world import World


class UsageController(Controller):
    """Samples usage. `now` is in nanoseconds in all methods."""

    watched = (LOCAL_QUEUE_VIEW,)

    def __init__(self, world: World) -> None:
        self._world = world
        self._moments = DueNames()
        self._begun: set[str] = set()

    def observe(self, observed: Observed[object]) -> None:
        key = observed.key[1]
        if observed.value is None:
            self._moments.drop(key)
            self._begun.discard(key)
            return
        if observed.stored is not None:
            remember(self._world, key, observed.stored.status)
        if key not in self._moments:
            self._moments.set(key, 0)

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Take the samples that are due for LocalQueues of this part. This controller writes nothing itself."""
        now = whole_second(now)
        for key in self._moments.due(now):
            if busy(WORK_AT, key):
                self._begun.discard(key)  # another part samples it and stores the usage in the status
                yield WaitFor((LOCAL_QUEUE_VIEW.kind, key), (WORK_AT, key))
                continue
            if key not in self._begun and followed(self._world, key):
                self._begun.add(key)
                begin(self._world, key, now)
            left = sample(self._world, key, now)
            if left is None:
                self._moments.drop(key)
            else:
                self._moments.set(key, now + left)

    def wake(self, item: Key) -> None:
        if item[1] in self._moments:
            self._moments.set(item[1], 0)
