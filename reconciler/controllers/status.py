"""The statuses and finalizers of queues, Cohorts, flavors and checks.

A change is written at once. Many workloads change one status, so the next change of the same object is written a second
later, once for all that came meanwhile; finalizers and statuses each have their own second. Nothing that may go waits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from cluster.actions import Action, Patch
from reconciler.controllers.finalizers import finalizer_patch
from reconciler.controllers.queue_events import QueueEvents
from reconciler.controllers.queue_status import changes
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.core.watched import WATCHED_KINDS
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.times import SECOND
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, Touch
from scheduling.world.world import World

log = logging.getLogger(__name__)
PERIOD = SECOND
"""At least so long, in nanoseconds, between two writes of one object's status, or of its finalizers."""
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
        self._leaving: dict[Touch, None] = {}
        self._rests: dict[tuple[Touch, bool], int] = {}

    def observe(self, observed: Observed) -> None:
        """What is on its way out may go as soon as a ClusterQueue no longer names it."""
        key = observed.key
        self._later[key] = None
        if observed.value is None:
            for is_status in (False, True):
                self._rests.pop((key, is_status), None)
        if observed.value is not None and observed.detail.deleting:
            self._leaving[key] = None
        else:
            self._leaving.pop(key, None)
        if key[0] == CLUSTER_QUEUE:
            self._later.update(self._leaving)

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
        """One patch for each object that shows something else by now; its finalizer goes before its status."""
        changed = dict.fromkeys([*self._later, *self._world.take_touched()])
        self._later = {}
        for touch in [touch for touch in changed if busy(*touch)]:
            del changed[touch]
            yield WaitFor(touch, touch)
        yield from self._events.of(self._world, changed)
        due = []
        for touch in changed:
            guard = self._guard(touch)
            rest = self._rests.get((touch, guard is None), 0)
            if rest > now and not (guard is not None and touch in self._leaving):
                yield WakeAt(touch, rest)
            elif guard is not None:
                yield self._write(touch, guard, now)
                yield WaitFor(touch, touch)
            else:
                due.append(touch)
        for touch, patch in self._statuses(due, now):
            yield self._write(touch, patch, now)

    def _guard(self, touch: Touch) -> Patch | None:
        before = self._records.detail(touch)
        return finalizer_patch(self._world, touch, before) if before is not None else None

    def _statuses(self, due: Iterable[Touch], now: int) -> Iterator[tuple[Touch, Patch]]:
        return changes(self._world, due, self._records.detail, whole_second(now), not self.prunes_cohorts)

    def _write(self, touch: Touch, patch: Patch, now: int) -> WantedWrite:
        self._rests[touch, patch.subresource is not None] = now + PERIOD
        return WantedWrite(touch, patch)
