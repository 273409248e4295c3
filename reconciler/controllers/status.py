"""Writes the statuses and finalizers of queues, Cohorts, flavors and checks, and the finalizers of Topologies.

Many workloads change the same status. So the first change is written at once, and all changes within the next second
are written together. Finalizers and statuses have separate intervals. An object that is being deleted never waits.

Few writes are in flight at a time, and a status is computed just before it is written. So a first start with thousands
of queues writes each status once, and it includes the admissions up to then. Objects without a status come first.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from cluster.actions import Action, Patch
from reconciler.controllers.finalizers import GUARDED, RESOURCE_FLAVOR, finalizer_patch, users
from reconciler.controllers.queue_status import change, cohort_readiness, readiness_of
from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.objects.activity import ActiveCondition
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.topology_views import TOPOLOGY_VIEW
from reconciler.objects.wanted import KUEUE_VERSION, WantedWrite, refer_to
from reconciler.objects.watched import WATCHED_KINDS
from scheduling.objects.times import SECOND
from scheduling.quota.shares import Shares
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, Touch
from scheduling.world.world import World

log = logging.getLogger(__name__)
PERIOD = SECOND
"""The shortest time in nanoseconds between two writes of an object's status, or of its finalizers."""
KINDS = ("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "AdmissionCheck")
_UNDER_WAY = 12
"""The most writes in flight: one for each thread of the writer, and some that wait. The number is below the limit at
which a cluster counts as busy, so that reasons for waiting and Events are still written."""
_LOOKED_AT = 64
"""The most objects in one turn, which take a few milliseconds, so that admissions need not wait for all of them."""


class StatusController(Controller):
    """Writes statuses and finalizers. It runs after the decisions of a turn, so that a status includes their results.

    `prunes_cohorts`: whether the installed definition of Cohorts is Kueue's, which has no conditions.
    """

    after_decisions = True

    def __init__(self, world: World, records: Records) -> None:
        kinds = tuple(each for each in WATCHED_KINDS if each.kind in KINDS)
        self.watched = (*kinds, TOPOLOGY_VIEW) if world.state.fleet is not None else kinds
        self.prunes_cohorts = False
        self._world = world
        self._records = records
        self._events = QueueEvents(records)
        self._later: dict[Touch, None] = {}
        self._queue = StatusQueue()
        self._leaving: dict[Touch, None] = {}
        self._next_writes: dict[tuple[Touch, bool], int] = {}
        self._under_way: list[Touch] = []

    def observe(self, observed: Observed[object]) -> None:
        """Note a changed object. While an object is being deleted, a change of another one may free its finalizer."""
        key = observed.key
        self._later[key] = None
        if observed.value is None:
            self._queue.forget(key)
            for is_status in (False, True):
                self._next_writes.pop((key, is_status), None)
        if key[0] in GUARDED and observed.stored is not None and observed.stored.deleting:
            self._leaving[key] = None
        else:
            self._leaving.pop(key, None)
        if key[0] in (CLUSTER_QUEUE, RESOURCE_FLAVOR):
            self._later.update(self._leaving)

    def wake(self, item: Key) -> None:
        self._later[item] = None

    def written(self, action: Action, observed: Observed[object]) -> None:
        """Detect Kueue's definition of Cohorts: its schema has no conditions, so the API server does not return them.

        From then on Cohorts are written without conditions, because they would be found missing again each time. Events
        and the conditions of the ClusterQueues report the same. If our definition is installed later, it is detected
        after a restart.
        """
        status = action.body.get("status", {}) if isinstance(action, Patch) else {}
        shown = observed.stored.status if observed.stored is not None else {}
        if observed.key[0] == COHORT and status.get("conditions") and not shown.get("conditions"):
            if not self.prunes_cohorts:
                log.warning("the installed definition of Cohorts has no status.conditions; they are not written")
            self.prunes_cohorts = True

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """Write the objects whose status has changed, one patch for each, within the limit of writes in flight."""
        changed = dict.fromkeys([*self._later, *self._world.take_touched()])
        self._later = {}
        yield from self._events.of(self._world, changed)
        for touch in changed:
            self._queue.join(touch, leaves=touch in self._leaving)
        self._under_way = [touch for touch in self._under_way if touch in self._records.in_flight]
        shares = Shares()
        for _ in range(_LOOKED_AT):
            if len(self._under_way) >= _UNDER_WAY or not self._queue:
                return
            touch = self._queue.first
            self._queue.leave(touch)
            if busy(*touch):
                yield WaitFor(touch, touch)
            else:
                yield from self._look_at(touch, now, shares)
        if self._queue:
            yield WakeAt(self._queue.first, now)  # begin the next turn at once, for the objects that are left

    def _look_at(self, touch: Touch, now: int, shares: Shares) -> Iterator[Wanted]:
        """The next write of the object.

        The finalizer is written before the status if the object is used or is being deleted, otherwise after it.
        """
        guard, leaves = self._finalizer_write(touch), touch in self._leaving
        if guard is not None and (leaves or users(self._world, touch)):
            yield from self._write(touch, guard, now, again=True, paced=not leaves)
            return
        self._queue.know(touch)
        if self._next_writes.get((touch, True), 0) > now:
            yield WakeAt(touch, self._next_writes[touch, True])
        elif (patch := self._status(touch, now, shares)) is not None:
            yield from self._write(touch, patch, now, again=guard is not None)
            return
        if guard is not None:
            yield from self._write(touch, guard, now, again=True)

    def _finalizer_write(self, touch: Touch) -> Patch | None:
        before = self._records.detail(touch)
        return finalizer_patch(self._world, touch, before) if before is not None else None

    def _status(self, touch: Touch, now: int, shares: Shares) -> Patch | None:
        return change(
            self._world, touch, self._records.detail(touch), whole_second(now), shares, not self.prunes_cohorts
        )

    def _write(self, touch: Touch, patch: Patch, now: int, *, again: bool, paced: bool = True) -> Iterator[Wanted]:
        """Write the object, or wait if it was written just now. `again`: look at it again after the write."""
        kind = touch, patch.subresource is not None
        next_write = self._next_writes.get(kind, 0)
        if paced and next_write > now:
            yield WakeAt(touch, next_write)
            return
        self._next_writes[kind] = now + PERIOD
        self._under_way.append(touch)
        yield WantedWrite(touch, patch)
        if again:
            yield WaitFor(touch, touch)


class StatusQueue:
    """The objects to look at, each once. First come objects that are being deleted or have no status yet."""

    def __init__(self) -> None:
        self._ahead: dict[Touch, None] = {}
        self._others: dict[Touch, None] = {}
        self._known: set[Touch] = set()

    def __bool__(self) -> bool:
        return bool(self._ahead or self._others)

    @property
    def first(self) -> Touch:
        """The next object. Raises StopIteration if there is none."""
        return next(iter(self._ahead or self._others))

    def join(self, touch: Touch, *, leaves: bool) -> None:
        """Queue the object.

        Unknown ClusterQueues, Cohorts, flavors and checks come first. `leaves`: the object is being deleted.
        """
        if leaves or (touch[0] in GUARDED and touch not in self._known):
            self._others.pop(touch, None)
            self._ahead[touch] = None
        elif touch not in self._ahead:
            self._others[touch] = None

    def leave(self, touch: Touch) -> None:
        """Remove the object from the queue, because it is looked at now."""
        self._ahead.pop(touch, None)
        self._others.pop(touch, None)

    def know(self, touch: Touch) -> None:
        """The status of the object was looked at, so the object is no longer unknown."""
        if touch[0] in GUARDED:
            self._known.add(touch)

    def forget(self, touch: Touch) -> None:
        self._known.discard(touch)


class QueueEvents:
    """Makes Events for ClusterQueues and Cohorts that stop or resume admission. Source: Kueue v0.19; KEP-79 for cycles.

    It remembers why each queue stopped, because not every Cohort has a status for that.

    `records`: the stored queues.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._stopped: dict[Touch, str] = {}

    def of(self, world: World, touched: Iterable[Touch]) -> Iterator[WantedWrite]:
        for touch in touched:
            ready = _readiness(world, touch)
            if ready is None:
                self._stopped.pop(touch, None)
            elif ready.holds and self._stopped.pop(touch, None) is not None:
                yield self._event(touch, ready)
            elif not ready.holds and self._stopped.get(touch) != ready.message:
                self._stopped[touch] = ready.message
                yield self._event(touch, ready)

    def _event(self, touch: Touch, ready: ActiveCondition) -> WantedWrite:
        """An Event about the object. An implicit Cohort has no object, and gets no Event."""
        about = refer_to(KUEUE_VERSION, *touch, self._records.detail(touch))
        return WantedWrite(touch, None, about, ready.reason, ready.message, warning=not ready.holds)


def _readiness(world: World, touch: Touch) -> ActiveCondition | None:
    """The readiness of the object; None if it is gone, or its kind has no readiness."""
    kind, name = touch
    if kind == CLUSTER_QUEUE and name in world.state.queues:
        return readiness_of(world, name)
    if kind == COHORT and name in world.state.tree.cohorts:
        return cohort_readiness(world, world.state.tree.cohorts[name])
    return None
