"""The statuses and finalizers of queues, Cohorts, flavors and checks: what is to be looked at, and what is written.

Many workloads change one status, so statuses are written some time after what changed them, once for all of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from cluster.actions import Action, Patch
from reconciler.feed import Seen
from reconciler.finalizers import finalizer_patch
from reconciler.queue_status import changes
from reconciler.stored import Stored
from reconciler.teller import Teller
from scheduling.objects.times import SECOND
from scheduling.quota.touched import COHORT, Touch
from scheduling.world.world import World

log = logging.getLogger(__name__)
PERIOD = SECOND
"""At least so long, in nanoseconds, between two looks at what changed."""
KINDS = ("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "AdmissionCheck")


class StatusSide:
    """`stored` gives what was read of an object, None where it is gone."""

    def __init__(self, world: World, stored: Callable[[Touch], Stored | None], teller: Teller) -> None:
        self._world = world
        self._teller = teller
        self._stored = stored
        self._later: dict[Touch, None] = {}
        self._next = 0
        self.cohorts_whole = True

    def touch(self, touch: Touch) -> None:
        """The object itself was seen."""
        self._later[touch] = None

    def written(self, action: Action, seen: Seen) -> None:
        """What a write came to. A Cohort that has no conditions afterwards is of Kueue's definition, which prunes them.

        From then on Cohorts are written without, or each look would find them missing again; Events tell what they
        would have, and so do the conditions of the ClusterQueues below. Ours, installed later, shows after a restart.
        """
        told = action.body.get("status", {}) if isinstance(action, Patch) else {}
        if seen.key[0] == COHORT and told.get("conditions") and not seen.aside.status.get("conditions"):
            if self.cohorts_whole:
                log.warning("the installed definition of Cohorts has no status.conditions; they are not written")
            self.cohorts_whole = False

    def due(self, busy: Callable[[str, str], bool], now: int) -> Iterator[tuple[Touch, Patch]]:
        """What is to be written now, one patch for each object; those of which a write is under way wait.

        What is on its way out is looked at each time, since it goes when others let it go.
        """
        if now < self._next:
            return
        self._next = now + PERIOD
        looked_at = dict.fromkeys([*self._later, *self._world.take_touched()])
        self._later = {touch: None for touch in looked_at if busy(*touch)}
        free = [touch for touch in looked_at if touch not in self._later]
        self._teller.stopped(self._world, free, now)
        statuses = dict(changes(self._world, free, self._stored, now, self.cohorts_whole))
        for touch in free:
            stored = self._stored(touch)
            guard = finalizer_patch(self._world, touch, stored) if stored is not None else None
            patch = guard or statuses.get(touch)
            if patch is not None:
                yield touch, patch
            leaving = stored is not None and stored.deleting
            if leaving or (guard is not None and touch in statuses):
                self._later[touch] = None
