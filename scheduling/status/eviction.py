"""Writes evictions into a workload's conditions, and reads them.

Source: Kueue v0.19, pkg/workload/evict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from scheduling.objects.workload import (
    BLOCKED_ON_GATES,
    CLOSED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    EVICTED,
    PREEMPTED,
    Eviction,
    PreemptionGate,
    Workload,
)
from scheduling.status.checks import reset_checks
from scheduling.status.conditions import with_condition

DEVICES_CHANGED = "DevicesChanged"
"""The reason of an eviction because pods would get more devices than quota is reserved for. Kueue has no such one."""


def evict(workload: Workload, reason: str, message: str, now: int, *, cause: str = "") -> Workload:
    """Evict the workload. It keeps its quota until its job has stopped.

    cause: why it was deactivated, if the reason is a deactivation.
    """
    full_reason = f"{reason}DueTo{cause}" if reason == DEACTIVATED and cause else reason
    evicted = with_condition(workload, EVICTED, "True", full_reason, message, now)
    evicted = replace(reset_checks(evicted, now), cluster="", nominated=(), unhealthy_nodes=())
    if workload.holds(BLOCKED_ON_GATES):
        evicted = with_condition(evicted, BLOCKED_ON_GATES, "False", full_reason, message, now)
    return replace(
        evicted,
        gate_states={name: PreemptionGate(CLOSED, now) for name in workload.gate_states},
        evictions=_counted(workload.evictions, reason, cause),
    )


def preempt(workload: Workload, reason: str, message: str, now: int) -> Workload:
    """Evict the workload for another one. `reason`: of the condition Preempted, such as InClusterQueue."""
    evicted = evict(workload, PREEMPTED, message, now)
    return with_condition(evicted, PREEMPTED, "True", reason, message, now)


def target_for_deactivation(workload: Workload, reason: str, message: str, now: int) -> Workload:
    """Set the condition DeactivationTarget, which requests a deactivation for this reason."""
    return with_condition(workload, DEACTIVATION_TARGET, "True", reason, message, now)


class PendingAgain(NamedTuple):
    """An evicted workload that released its quota. `latency`: from the eviction to the release, in nanoseconds."""

    cluster_queue: str
    reason: str
    latency: int


def pending_again(before: Workload, after: Workload, now: int) -> PendingAgain | None:
    """Describe an evicted workload that loses its quota by this change; None if it does not."""
    evicted, admission = after.holding(EVICTED), before.admission
    if evicted is None or admission is None or not admission.cluster_queue:
        return None
    if not lost_quota(state(before), state(after)):
        return None
    return PendingAgain(admission.cluster_queue, evicted.reason, now - evicted.since)


def state(workload: Workload) -> str:
    """The state of the workload: finished, admitted, quotaReserved or pending."""
    if workload.finished:
        return "finished"
    if workload.admitted:
        return "admitted"
    return "quotaReserved" if workload.reserved else "pending"


def lost_quota(before: str, after: str) -> bool:
    """Whether the state changed from one with quota to pending."""
    return before in ("quotaReserved", "admitted") and after == "pending"


def _counted(evictions: tuple[Eviction, ...], reason: str, cause: str) -> tuple[Eviction, ...]:
    known = next((entry for entry in evictions if (entry.reason, entry.cause) == (reason, cause)), None)
    if known is None:
        return (*evictions, Eviction(reason, cause, 1))
    return tuple(replace(entry, count=entry.count + 1) if entry is known else entry for entry in evictions)
