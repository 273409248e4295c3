"""Deadlines of a workload, for pods that are not ready and for execution time, and the effects of its checks.

Source: Kueue v0.19, pkg/controller/core (workload controller).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMISSION_CHECK,
    ADMITTED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    MAXIMUM_EXECUTION_TIME,
    PODS_READY,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    Workload,
)
from scheduling.status.checks import REJECTED, RETRY, checks_text, retry_at
from scheduling.status.conditions import with_condition
from scheduling.status.eviction import DEVICES_CHANGED, evict, target_for_deactivation
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.requeue import RequeueBackoff, back_off, requeue_at, requeued
from scheduling.status.reservation import unreserve

WAIT_FOR_START = "WaitForStart"
WAIT_FOR_RECOVERY = "WaitForRecovery"
STARTED, RECOVERED = "Started", "Recovered"
_QUEUE_AGAIN = (PREEMPTED, "NodeFailures", DEVICES_CHANGED)
"""Evictions after which a workload is requeued at once, unless it belongs to a single Pod, which is deleted by then."""


@dataclass(frozen=True, slots=True)
class WaitForPodsReady:
    """Kueue's configuration waitForPodsReady. Times are in nanoseconds.

    timeout: for the first start of all pods.
    recovery: for pods that fail later; None for no timeout.
    backoff: the delay before a workload is requeued.
    limit: how often a workload is requeued before it is deactivated; None for no limit.
    block_admission: no other workload is admitted until all pods are ready.
    """

    timeout: int = 30 * 60 * SECOND
    recovery: int | None = 30 * 60 * SECOND
    backoff: RequeueBackoff = field(default_factory=RequeueBackoff)
    limit: int | None = None
    block_admission: bool = False


class Deadline(NamedTuple):
    """A deadline. `cause`: why it exists."""

    at: int
    cause: str


def pods_ready_deadline(workload: Workload, waiting: WaitForPodsReady) -> Deadline | None:
    """When the pods of an admitted workload must be ready; None if there is no such deadline."""
    admitted, ready = workload.holding(ADMITTED), workload.conditions.get(PODS_READY)
    if workload.evicted or not workload.active:
        return None
    if admitted is None or (ready is not None and ready.status == "True"):
        return None
    if ready is None or ready.reason != WAIT_FOR_RECOVERY:
        return Deadline(admitted.since + waiting.timeout, WAIT_FOR_START)
    if waiting.recovery is None:
        return None
    return Deadline(ready.since + waiting.recovery, WAIT_FOR_RECOVERY)


def end_wait(workload: Workload, waiting: WaitForPodsReady, now: int) -> Workload:
    """Evict a workload whose pods were not ready in time.

    Its backoff grows each time; at the limit it is deactivated.
    """
    deadline = pods_ready_deadline(workload, waiting)
    if deadline is None or now < deadline.at:
        return workload
    times = (workload.requeue.count if workload.requeue else None) or 0
    if waiting.limit is not None and times + 1 > waiting.limit:
        message = "exceeding the maximum number of re-queuing retries"
        return target_for_deactivation(workload, "RequeuingLimitExceeded", message, now)
    message = f"Exceeded the PodsReady timeout {workload.key}"
    evicted = evict(workload, PODS_READY_TIMEOUT, message, now, cause=deadline.cause)
    return back_off(evicted, waiting.backoff, now)


def execution_deadline(workload: Workload) -> int | None:
    """When an admitted workload reaches its maximum execution time, summed over all its admissions."""
    admitted = workload.holding(ADMITTED)
    if admitted is None or workload.maximum_seconds is None or workload.finished:
        return None
    return admitted.since + (workload.maximum_seconds - (workload.past_seconds or 0)) * SECOND


def end_execution(workload: Workload, now: int) -> Workload:
    """Target a workload for deactivation that ran too long. After a reactivation its time starts at 0."""
    deadline = execution_deadline(workload)
    if deadline is None or now < deadline or workload.holds(DEACTIVATION_TARGET) or not workload.active:
        return workload
    message = "exceeding the maximum execution time"
    return replace(target_for_deactivation(workload, MAXIMUM_EXECUTION_TIME, message, now), past_seconds=None)


def act_on_checks(workload: Workload, now: int) -> Workload:
    """Act on the checks: Rejected deactivates the workload, Retry evicts it until the time that the checks name.

    A workload without quota is not changed. It stays in its queue, and its next attempt fails because of the checks.
    """
    if workload.evicted or workload.finished or not workload.active or not workload.reserved:
        return workload
    if rejected := checks_text(workload.checks, REJECTED):
        return target_for_deactivation(workload, ADMISSION_CHECK, rejected, now)
    again = checks_text(workload.checks, RETRY)
    if not again:
        return workload
    at = retry_at(workload.checks)
    later = requeue_at(workload, at, counted=False) if at > now else workload
    return evict(later, ADMISSION_CHECK, f"Evicted due to {again}", now)


def deactivate(workload: Workload, now: int) -> Workload:
    """Set the workload inactive and evict it, for the reason of its condition DeactivationTarget.

    If it is evicted already, it keeps that reason.
    """
    target = workload.holding(DEACTIVATION_TARGET)
    cause, due = (target.reason, f" due to {target.message}") if target is not None else ("", "")
    others = {kind: found for kind, found in workload.conditions.items() if kind != DEACTIVATION_TARGET}
    stopped = replace(workload, active=False, requeue=None, conditions=others)
    if workload.evicted:
        return stopped
    return evict(stopped, DEACTIVATED, f"The workload is deactivated{due}", now, cause=cause)


def reactivate(workload: Workload, now: int) -> Workload:
    """Set the workload active and requeue it."""
    active = replace(workload, active=True)
    return requeued(active, "Reactivated", "The workload was reactivated", now, status=True)


def release(
    workload: Workload, now: int, observability: Observability = LEGACY, *, requeues_pods: bool = False
) -> Workload:
    """Free the quota of an evicted workload after its job has stopped. It is requeued at once or after a backoff.

    A workload that is not evicted, or has no quota, is not changed. requeues_pods: the workload of a single Pod is
    requeued at once, too (Kueue's gate SkipReassignmentForPodOwnedWorkloads is off).
    """
    evicted = workload.holding(EVICTED)
    if evicted is None or not workload.reserved:
        return workload
    back = evicted.reason in _QUEUE_AGAIN and (requeues_pods or not workload.of_one_pod)
    queued = requeued(workload, evicted.reason, evicted.message, now, status=back)
    reason = observability.attempt(PENDING_EVALUATION)
    return unreserve(queued, reason, evicted.message, now, observability)


def pods_ready(workload: Workload, ready: bool, now: int) -> Workload:
    """Set the condition PodsReady from the report of the job: all ready, not ready yet, or no longer ready.

    The condition changes only with its status or reason. Without admission the reason is WaitForStart in any case.
    """
    before = workload.conditions.get(PODS_READY)
    after = _pods_ready(workload, ready, now)
    reported = after.conditions[PODS_READY]
    same = before is not None and (before.status, before.reason) == (reported.status, reported.reason)
    return workload if same else after


def _pods_ready(workload: Workload, ready: bool, now: int) -> Workload:
    before = workload.conditions.get(PODS_READY)
    if ready and workload.admitted:
        reason = RECOVERED if before is not None and before.reason in (WAIT_FOR_RECOVERY, RECOVERED) else STARTED
        message = "All pods reached readiness and the workload is running"
        return with_condition(workload, PODS_READY, "True", reason, message, now)
    lost = before is not None and (before.status == "True" or before.reason == WAIT_FOR_RECOVERY)
    if lost and workload.admitted:
        message = "At least one pod has failed, waiting for recovery"
        return with_condition(workload, PODS_READY, "False", WAIT_FOR_RECOVERY, message, now)
    return with_condition(workload, PODS_READY, "False", WAIT_FOR_START, "Not all pods are ready or succeeded", now)
