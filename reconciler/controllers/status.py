"""The statuses and finalizers of queues, Cohorts, flavors and checks.

Many workloads change one status, so a status is written some time after the first change, once for all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from cluster.actions import Action, Patch
from reconciler.controllers.finalizers import finalizer_patch
from reconciler.controllers.queue_events import QueueEvents
from reconciler.controllers.queue_status import changes
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.core.records import Records
from reconciler.core.watched import WATCHED_KINDS
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.times import SECOND
from scheduling.quota.touched import COHORT, Touch
from scheduling.world.world import World

log = logging.getLogger(__name__)
PERIOD = SECOND
"""At least so long, in nanoseconds, between two looks at what changed."""
KINDS = ("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "AdmissionCheck")


class StatusController(Controller):
    """Comes after the decisions of a turn, so that a status shows what they came to.

    `prunes_cohorts`: the definition of Cohorts that is installed is Kueue's, which has no conditions.
    """

    watched = tuple(each for each in WATCHED_KINDS if each.kind in KINDS)
    after_decisions = True

    def __init__(self, world: World, records: Records) -> None:
        self.prunes_cohorts = False
        self._world = world
        self._records = records
        self._events = QueueEvents()
        self._later: dict[Touch, None] = {}
        self._next = 0

    def observe(self, observed: Observed) -> None:
        self._later[observed.key] = None

    def wake(self, item: Key) -> None:
        self._later[item] = None

    def written(self, action: Action, observed: Observed) -> None:
        """A Cohort that has no conditions after they were written is of Kueue's definition, which prunes them.

        From then on Cohorts are written without them, or each look would find them missing again; Events say what they
        would have, and so do the conditions of the ClusterQueues below. Ours, installed later, counts after a restart.
        """
        status = action.body.get("status", {}) if isinstance(action, Patch) else {}
        if observed.key[0] == COHORT and status.get("conditions") and not observed.detail.status.get("conditions"):
            if not self.prunes_cohorts:
                log.warning("the installed definition of Cohorts has no status.conditions; they are not written")
            self.prunes_cohorts = True

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """One patch for each object that shows something else by now."""
        now = whole_second(now)
        if now < self._next:
            return
        self._next = now + PERIOD
        changed = dict.fromkeys([*self._later, *self._world.take_touched()])
        self._later = {}
        for touch in [touch for touch in changed if busy(*touch)]:
            del changed[touch]
            yield WaitFor(touch, touch)
        yield from self._events.of(self._world, changed)
        yield from self._writes(changed, now)

    def _writes(self, changed: Iterable[Touch], now: int) -> Iterator[WantedWrite]:
        """What is being deleted is looked at each time, since it goes when others let it go."""
        stored = self._records.detail
        statuses = dict(changes(self._world, changed, stored, now, not self.prunes_cohorts))
        for touch in changed:
            before = stored(touch)
            guard = finalizer_patch(self._world, touch, before) if before is not None else None
            patch = guard or statuses.get(touch)
            if patch is not None:
                yield WantedWrite(touch, patch)
            if (before is not None and before.deleting) or (guard is not None and touch in statuses):
                self._later[touch] = None
