"""What time alone does to a workload: pods that are not ready, too long a run, checks that want another try.

Source: Kueue v0.19, pkg/controller/core (workload controller).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMISSION_CHECK,
    ADMITTED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    Workload,
)
from scheduling.status.checks import REJECTED, RETRY, retry_at
from scheduling.status.conditions import with_condition
from scheduling.status.eviction import evict, target_for_deactivation
from scheduling.status.requeue import Backoff, back_off, requeue_at, requeued
from scheduling.status.reservation import unreserve

WAIT_FOR_START = "WaitForStart"
WAIT_FOR_RECOVERY = "WaitForRecovery"
_QUEUE_AGAIN = (PREEMPTED, "NodeFailures")
"""Evictions after which a workload waits in its queue at once."""


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """Kueue's configuration waitForPodsReady; times in seconds.

    `recovery` is None where pods that are lost later may take for ever. `limit` is how often a workload is requeued
    before it is deactivated, None for always. `one_at_a_time`: nobody new is admitted before all pods are ready.
    """

    timeout: int = 30 * 60
    recovery: int | None = 30 * 60
    backoff: Backoff = field(default_factory=Backoff)
    limit: int | None = None
    one_at_a_time: bool = False


class Deadline(NamedTuple):
    """The moment at which time is up, and what for."""

    at: int
    cause: str


def pods_ready_deadline(workload: Workload, waiting: WaitForPodsReady) -> Deadline | None:
    """Until when the pods of an admitted workload must be ready; None while nothing is waited for."""
    admitted, ready = workload.holding(ADMITTED), workload.conditions.get(PODS_READY)
    if admitted is None or (ready is not None and ready.status == "True"):
        return None
    if ready is None or ready.reason != WAIT_FOR_RECOVERY:
        return Deadline(admitted.since + waiting.timeout * SECOND, WAIT_FOR_START)
    if waiting.recovery is None:
        return None
    return Deadline(ready.since + waiting.recovery * SECOND, WAIT_FOR_RECOVERY)


def end_wait(workload: Workload, waiting: WaitForPodsReady, now: int, jitter: float = 0.0) -> Workload:
    """Evicted where its pods took too long, to come back later each time; deactivated in the end."""
    deadline = pods_ready_deadline(workload, waiting)
    if deadline is None or now < deadline.at or workload.evicted or not workload.active:
        return workload
    times = (workload.requeue.count if workload.requeue else None) or 0
    if waiting.limit is not None and times + 1 > waiting.limit:
        message = "exceeding the maximum number of re-queuing retries"
        return target_for_deactivation(workload, "RequeuingLimitExceeded", message, now)
    message = f"Exceeded the PodsReady timeout {workload.key}"
    evicted = evict(workload, PODS_READY_TIMEOUT, message, now, cause=deadline.cause)
    return back_off(evicted, waiting.backoff, now, jitter)


def execution_deadline(workload: Workload) -> int | None:
    """The moment at which an admitted workload has run for as long as it may, all its admissions together."""
    admitted = workload.holding(ADMITTED)
    if admitted is None or workload.maximum_seconds is None or workload.finished:
        return None
    return admitted.since + (workload.maximum_seconds - (workload.past_seconds or 0)) * SECOND


def end_execution(workload: Workload, now: int) -> Workload:
    """To be deactivated where it has run too long; should it be activated again, its time begins anew."""
    deadline = execution_deadline(workload)
    if deadline is None or now < deadline or workload.holds(DEACTIVATION_TARGET) or not workload.active:
        return workload
    message = "exceeding the maximum execution time"
    return replace(target_for_deactivation(workload, "MaximumExecutionTimeExceeded", message, now), past_seconds=None)


def act_on_checks(workload: Workload, now: int) -> Workload:
    """What its checks demand: a rejection ends it, another try sends it back until the time that the checks name."""
    if workload.evicted or workload.finished or not workload.active:
        return workload
    rejected = [check.name for check in workload.checks if check.state == REJECTED]
    if rejected:
        message = f"Admission check(s): {','.join(rejected)}, were rejected"
        return target_for_deactivation(workload, ADMISSION_CHECK, message, now)
    if not workload.reserved or all(check.state != RETRY for check in workload.checks):
        return workload
    again = retry_at(workload.checks)
    later = requeue_at(workload, again, counted=False) if again > now else workload
    return evict(later, ADMISSION_CHECK, "At least one admission check is false", now)


def deactivate(workload: Workload, now: int) -> Workload:
    """Not active any more, and evicted for the reason that its target for deactivation told."""
    target = workload.holding(DEACTIVATION_TARGET)
    cause, due = (target.reason, f" due to {target.message}") if target is not None else ("", "")
    others = {kind: found for kind, found in workload.conditions.items() if kind != DEACTIVATION_TARGET}
    stopped = replace(workload, active=False, requeue=None, conditions=others)
    return evict(stopped, DEACTIVATED, f"The workload is deactivated{due}", now, cause=cause)


def reactivate(workload: Workload, now: int) -> Workload:
    """Active again, and back in its queue."""
    active = replace(workload, active=True)
    return requeued(active, "Reactivated", "The workload was reactivated", now, status=True)


def release(workload: Workload, now: int, *, detailed: bool = True) -> Workload:
    """Its job has stopped after its eviction: only now its quota is free, and it queues again or waits for its time.

    `detailed` as for `sync_admitted`. A workload that is not evicted, or holds no quota, stays as it is.
    """
    evicted = workload.holding(EVICTED)
    if evicted is None or not workload.reserved:
        return workload
    back = evicted.reason in _QUEUE_AGAIN
    told = requeued(workload, evicted.reason, evicted.message, now, status=back)
    return unreserve(told, "PendingEvaluation" if detailed else "Pending", evicted.message, now, detailed=detailed)


def pods_ready(workload: Workload, ready: bool, now: int) -> Workload:
    """What its job reports of its pods: all ready, not yet, or not any more."""
    before = workload.conditions.get(PODS_READY)
    if ready:
        recovered = before is not None and before.reason in (WAIT_FOR_RECOVERY, "Recovered")
        reason, message = ("Recovered", "All pods recovered") if recovered else ("Started", "All pods are ready")
        return with_condition(workload, PODS_READY, "True", reason, message, now)
    lost = before is not None and (before.status == "True" or before.reason == WAIT_FOR_RECOVERY)
    if lost:
        message = "At least one pod has failed, waiting for recovery"
        return with_condition(workload, PODS_READY, "False", WAIT_FOR_RECOVERY, message, now)
    return with_condition(workload, PODS_READY, "False", WAIT_FOR_START, "Not all pods are ready", now)
