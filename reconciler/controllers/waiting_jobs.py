"""Reports why a job waits: one sentence in an Event on the job, whenever the reason changes.

Owners of jobs look at `kubectl describe job`. The condition of the Workload has Kueue's words; the Event has Quotree's
(`scheduling.visibility.sentence`). A reason that did not change costs nothing. A sentence is composed only when it is
about to be written, so few are composed each second, however many jobs wait. Jobs without an Event come first, the
newest of them before the others.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Iterator
from functools import partial
from typing import NamedTuple

from reconciler.controllers.internal_errors import InternalErrors
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.objects.following import workload_trace
from reconciler.objects.moments import DueNames, whole_second
from reconciler.objects.observed import Key
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from scheduling.objects.times import SECOND
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.visibility.sentence import why_it_waits
from scheduling.world.world import World

REASON = "Waiting"
SETTLED = 2 * SECOND
"""How long a job waits before it gets an Event. Most jobs are admitted sooner and need none."""
PAUSE = 60 * SECOND
"""The shortest time between two Events of one job, even if its reason changes all the time."""
AGAIN = 50 * 60 * SECOND
"""The time after which an Event is repeated, because an API server keeps Events for an hour."""
RATE, BURST = 5, 50
"""Events per second, and the burst after a pause. That is enough to repeat the Events of 15 000 jobs in time."""
_LOOKED_AT = 100
"""The most sentences that are composed in one turn. Unchanged sentences count, too."""
_SPARE = 64
_WORKLOAD = "Workload"
_TURN = (_WORKLOAD, "")


class _Said(NamedTuple):
    """The last sentence of a workload.

    `at`: when its Event was written.
    `gist`: what it says, without details that change all the time.
    `state`: the state of the Workload from which it was composed; see `_state`.
    """

    at: int
    gist: Hashable
    state: Hashable


class WaitingJobsController(Controller):
    """Writes the Events. It runs after the decisions of a turn, so that they are included. Times are in nanoseconds.

    `away`: returns whether another part manages an object, and so reports why it waits.
    """

    after_decisions = True

    def __init__(self, stored: Lookup, world: World, away: Busy) -> None:
        self._stored = stored
        self._world = world
        self._away = away
        self._changed: dict[str, None] = {}
        self._due = DueNames()
        self._without_event: list[tuple[int, str]] = []
        self._with_event: deque[str] = deque()
        self._reported: dict[str, _Said] = {}
        self._errors = InternalErrors()
        self._budget, self._filled, self._wake = float(BURST), 0, 0

    def workload_changed(self, workload: str) -> None:
        found = self._stored(workload)
        if found is not None and _may_wait(found.value):
            self._changed[workload] = None
        else:
            for known in (self._changed, self._reported):
                known.pop(workload, None)
            self._due.drop(workload)

    def wake(self, item: Key) -> None:
        """The pause between Events is over, or this part now manages the workload."""
        if item != _TURN:
            self.workload_changed(item[1])

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        del busy  # an Event does not change the object
        self._schedule_changed(now)
        self._queue_due(now)
        self._budget = min(BURST, self._budget + (now - (self._filled or now)) * RATE / SECOND)
        self._filled = now
        for _ in range(_LOOKED_AT):
            if self._budget < 1 or not (name := self._next()):
                break
            if self._away(_WORKLOAD, name):
                self._reported.pop(name, None)
                yield WaitFor((_WORKLOAD, name), (_WORKLOAD, name))
            else:
                yield from self._look_at(name, now)
        if (moment := self._next_moment(now)) and not now < self._wake <= moment:
            self._wake = moment
            yield WakeAt(_TURN, moment)

    # --- the times of looks

    def _schedule_changed(self, now: int) -> None:
        names, self._changed = self._changed, {}
        for name in names:
            found, said = self._stored(name), self._reported.get(name)
            if said is None:
                if name not in self._due:
                    self._schedule(name, now + SETTLED)
            elif found is not None and said.state != _state(found.value):
                self._schedule(name, max(now + SETTLED, said.at + PAUSE))

    def _schedule(self, name: str, at: int) -> None:
        """Set the time at which to look at the workload, unless an earlier one is set."""
        known = self._due.get(name)
        if known is None or known > at:
            self._due.set(name, at)

    def _queue_due(self, now: int) -> None:
        """Queue the workloads that are due. Drop those that no longer wait, when they are most of the queue."""
        for name in self._due.due(now):
            found = self._stored(name)
            if found is None:
                continue
            if name in self._reported:
                self._with_event.append(name)
            else:
                heapq.heappush(self._without_event, (-found.value.created, name))
        if len(self._without_event) > 2 * len(self._due) + _SPARE:
            self._without_event = sorted({each for each in self._without_event if each[1] in self._due})

    def _next_moment(self, now: int) -> int:
        """When the next workload is due; 0 if no job waits."""
        if self._without_event or self._with_event:
            return now + SECOND // RATE
        return self._due.next or 0

    def _next(self) -> str:
        """Take the next workload from the queue; empty if there is none. Workloads that no longer wait are skipped."""
        while self._without_event or self._with_event:
            name = heapq.heappop(self._without_event)[1] if self._without_event else self._with_event.popleft()
            if self._due.drop(name):
                return name
        return ""

    # --- messages

    def _look_at(self, name: str, now: int) -> Iterator[Wanted]:
        found = self._stored(name)
        about = _job(found.value) if found is not None else None
        if found is None or about is None:
            self._reported.pop(name, None)
            return
        look = partial(self._event, name, found.value, about, now)
        for wanted in self._errors.isolated((_WORKLOAD, name), look, about, now):
            if isinstance(wanted, WantedWrite):
                self._budget -= 1
            yield wanted

    def _event(self, name: str, workload: Workload, about: ObjectReference, now: int) -> Iterator[WantedWrite]:
        sentence = why_it_waits(self._world, name, whole_second(now))
        if sentence is None:
            self._reported.pop(name, None)
            return
        before = self._reported.get(name)
        news = before is None or before.gist != sentence.gist or now >= before.at + AGAIN
        at = now if before is None or news else before.at
        self._reported[name] = _Said(at, sentence.gist, _state(workload))
        self._schedule(name, at + AGAIN)
        if news:
            yield WantedWrite((_WORKLOAD, name), None, about, REASON, sentence.text, warning=sentence.stuck)


def _may_wait(workload: Workload) -> bool:
    return bool(workload.owners) and not (workload.finished or workload.deleting or workload.admitted)


def _state(workload: Workload) -> Hashable:
    """The fields that change when the reason for waiting does: queue, condition, checks, and whether it is active."""
    condition = workload.conditions.get(QUOTA_RESERVED)
    why = (condition.status, condition.reason, condition.message) if condition is not None else None
    return workload.queue, workload.active, why, tuple((each.name, each.state) for each in workload.checks)


def _job(workload: Workload) -> ObjectReference | None:
    """The job, or the first Pod of a group; None for a Workload without an owner."""
    owner = workload.owners[0] if workload.owners else None
    if owner is None:
        return None
    name = f"{workload.namespace}/{owner.name}"
    return refer(owner.api_version, owner.kind, name, owner.uid, trace=workload_trace(workload))
