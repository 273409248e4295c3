"""Reserving quota, giving it back, and the condition Admitted that follows from it.

Source: Kueue v0.19, pkg/workload (quota reservation, Admitted condition).
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    BLOCKED_ON_GATES,
    EVICTED,
    FINISHED,
    PREEMPTED,
    QUOTA_RESERVED,
    Admission,
    Workload,
)
from scheduling.status.conditions import ended, with_condition

_RESERVED_REASON = "QuotaReserved"


def reserve(workload: Workload, admission: Admission, now: int) -> Workload:
    """Reserve quota and end the conditions of an earlier eviction. `sync_admitted` decides if it is admitted."""
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    held = with_condition(
        replace(workload, admission=admission), QUOTA_RESERVED, "True", _RESERVED_REASON, message, now
    )
    for kind in (EVICTED, PREEMPTED, BLOCKED_ON_GATES):
        held = ended(held, kind, _RESERVED_REASON, now)
    return workload if held == workload else held


def unreserve(workload: Workload, reason: str, message: str, now: int, *, detailed: bool = True) -> Workload:
    """Give back its quota, if any, and set QuotaReserved to False for this reason. `detailed`: see `sync_admitted`."""
    free = with_condition(workload, QUOTA_RESERVED, "False", reason, message, now)
    if free.admission is not None:
        free = replace(free, admission=None)
    return sync_admitted(free, now, detailed=detailed)


def sync_admitted(workload: Workload, now: int, *, detailed: bool = True) -> Workload:
    """Set Admitted: True while quota is reserved, every listed check is Ready and no topology is pending.

    When it ends, the whole seconds that it lasted are added to the past execution time. `detailed` is Kueue's gate
    UnadmittedWorkloadsObservability: workloads that were never admitted have the condition, too.
    """
    reason, message = _why_not(workload, detailed)
    if not detailed and workload.admitted == (not reason):
        return workload
    if not reason:
        return with_condition(workload, ADMITTED, "True", "Admitted", "The workload is admitted", now)
    if workload.admitted:
        workload = replace(workload, past_seconds=(workload.past_seconds or 0) + _ran(workload, now))
    return with_condition(workload, ADMITTED, "False", reason, message, now)


def waits_for_topology(workload: Workload) -> bool:
    """Whether a pod set has quota but its topology assignment is pending."""
    assignments = workload.admission.assignments if workload.admission is not None else ()
    return any(entry.topology is None and entry.delayed == "Pending" for entry in assignments)


def _why_not(workload: Workload, detailed: bool) -> tuple[str, str]:
    """Reason and message why it is not admitted; both empty if it should be."""
    if workload.reserved and workload.checks_ready and not waits_for_topology(workload):
        return "", ""
    if workload.finished:
        return FINISHED, "Workload has finished"
    if not workload.reserved and not workload.checks_ready and not detailed:
        return "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
    if not workload.reserved:
        return "NoReservation", "The workload has no reservation"
    if not workload.checks_ready:
        reason = "UnsatisfiedAdmissionChecks" if detailed else "UnsatisfiedChecks"
        return reason, "The workload has not all checks ready"
    return "PendingDelayedTopologyRequests", "There are pending delayed topology requests"


def _ran(workload: Workload, now: int) -> int:
    return max(0, now - workload.conditions[ADMITTED].since) // SECOND
