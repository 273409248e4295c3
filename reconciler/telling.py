"""What is worth an Event: changes of a Workload, and queues and Cohorts that stop or go on admitting.

Source: Kueue v0.19, pkg/scheduler, pkg/workload/evict and pkg/controller/core; KEP-79 for cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from policies.dialects.kueue_kinds import GROUP
from reconciler.events import About, Events
from reconciler.queue_status import Ready, cohort_readiness, readiness_of
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
)
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, Touch
from scheduling.world.decisions import Preempt
from scheduling.world.world import World

API_VERSION = f"{GROUP}/v1beta2"
_WARNED = {
    "AdmissionCheck": "AdmissionCheckRejected",
    "MaximumExecutionTimeExceeded": "MaximumExecutionTimeExceeded",
}
"""Events by the reason for which a workload is to be deactivated; others show as the eviction that follows."""


class News(NamedTuple):
    """One thing to tell of an object."""

    reason: str
    message: str
    warning: bool = False


def about(workload: Workload) -> About:
    return About(API_VERSION, "Workload", workload.namespace, workload.name, workload.uid)


def tell_change(events: Events, before: Workload, after: Workload, now: int) -> None:
    """A Workload was written: tell what is new about it."""
    for news in workload_news(before, after):
        events.tell(about(after), news.reason, news.message, now, warning=news.warning)


def tell_preemption(events: Events, decision: Preempt, now: int) -> None:
    """The workload that room is made for is told whom it displaces; the victim's own change tells the rest."""
    victim = decision.target.reservation.workload
    message = f"Preempted {victim.key} (UID: {victim.uid}): {decision.message}"
    events.tell(about(decision.preemptor), "PreemptedWorkload", message, now)


def workload_news(before: Workload, after: Workload) -> Iterator[News]:
    yield from _admission(before, after)
    yield from _waiting(before, after)
    yield from _leaving(before, after)
    yield from _checks(before, after)


def _new(before: Workload, after: Workload, kind: str) -> bool:
    return after.holds(kind) and not before.holds(kind)


def _admission(before: Workload, after: Workload) -> Iterator[News]:
    queue = after.admission.cluster_queue if after.admission is not None else ""
    reserved, admitted = after.conditions.get(QUOTA_RESERVED), after.conditions.get(ADMITTED)
    if reserved is not None and _new(before, after, QUOTA_RESERVED):
        waited = _seconds(queued_since(before), reserved.since)
        yield News("QuotaReserved", f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited}s")
    if admitted is not None and reserved is not None and _new(before, after, ADMITTED):
        waited = _seconds(reserved.since, admitted.since)
        yield News("Admitted", f"Admitted by ClusterQueue {queue}, wait time since reservation was {waited}s")


def _waiting(before: Workload, after: Workload) -> Iterator[News]:
    """Why it waits, where that is new; how it lost its quota is told as an eviction."""
    told, now = before.conditions.get(QUOTA_RESERVED), after.conditions.get(QUOTA_RESERVED)
    if now is None or now.status == "True" or before.reserved:
        return
    if told is None or (told.reason, told.message) != (now.reason, now.message):
        yield News(now.reason, now.message, warning=True)


def _leaving(before: Workload, after: Workload) -> Iterator[News]:
    evicted, preempted = after.conditions.get(EVICTED), after.conditions.get(PREEMPTED)
    target = after.conditions.get(DEACTIVATION_TARGET)
    if target is not None and target.reason in _WARNED and _new(before, after, DEACTIVATION_TARGET):
        yield News(_WARNED[target.reason], target.message, warning=True)
    if evicted is not None and _new(before, after, EVICTED):
        yield News(f"EvictedDueTo{evicted.reason}", evicted.message)
    if preempted is not None and _new(before, after, PREEMPTED):
        yield News("Preempted", preempted.message)


def _checks(before: Workload, after: Workload) -> Iterator[News]:
    old = {check.name: check.state for check in before.checks}
    moved = [
        f"{check.name} from {old[check.name]} to {check.state}"
        for check in after.checks
        if check.name in old and old[check.name] != check.state
    ]
    if moved and after.reserved and not after.evicted:
        yield News("AdmissionCheckUpdated", f"Admission checks changed: {', '.join(moved)}")


def queued_since(workload: Workload) -> int:
    """When it came into its queue: made, or requeued since."""
    requeued = workload.conditions.get(REQUEUED)
    return requeued.since if requeued is not None else workload.created


def _seconds(since: int, until: int) -> int:
    return max(0, until - since) // SECOND


class Nodes:
    """Tells of each ClusterQueue and Cohort when it stops admitting, why, and when it goes on.

    What was told last is kept here, since not every Cohort's status can hold it; one that never stopped is not news.
    """

    def __init__(self) -> None:
        self._stopped: dict[Touch, str] = {}

    def tell(self, events: Events, world: World, touched: Iterable[Touch], now: int) -> None:
        for touch in touched:
            ready = _readiness(world, touch)
            if ready is None:
                self._stopped.pop(touch, None)
            elif ready.active and self._stopped.pop(touch, None) is not None:
                events.tell(_node(touch), ready.reason, ready.message, now)
            elif not ready.active and self._stopped.get(touch) != ready.message:
                self._stopped[touch] = ready.message
                events.tell(_node(touch), ready.reason, ready.message, now, warning=True)


def _readiness(world: World, touch: Touch) -> Ready | None:
    """None of what is gone, or never stops by itself."""
    kind, name = touch
    if kind == CLUSTER_QUEUE and name in world.state.queues:
        return readiness_of(world, name)
    if kind == COHORT and name in world.state.tree.cohorts:
        return cohort_readiness(world, world.state.tree.cohorts[name])
    return None


def _node(touch: Touch) -> About:
    kind, name = touch
    return About(API_VERSION, kind, "", name)
