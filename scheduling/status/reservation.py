"""Reserves quota, releases it, and sets the condition Admitted.

Source: Kueue v0.19, pkg/workload (quota reservation, Admitted condition).
"""

from __future__ import annotations

from scheduling.objects.copying import replace
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMITTED,
    BLOCKED_ON_GATES,
    EVICTED,
    PREEMPTED,
    QUOTA_RESERVED,
    Admission,
    PodSetAdmission,
    Workload,
)
from scheduling.status.conditions import ended, with_condition
from scheduling.status.observability import LEGACY, Observability

_RESERVED_REASON = "QuotaReserved"


def reserve(workload: Workload, admission: Admission, now: int) -> Workload:
    """Reserve quota and end the conditions of an earlier eviction. `sync_admitted` decides whether it is admitted.

    The requests are now in the admission, and are removed from status.resourceRequests.
    """
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    held = replace(workload, admission=admission, resource_requests={})
    held = with_condition(held, QUOTA_RESERVED, "True", _RESERVED_REASON, message, now)
    for kind in (EVICTED, PREEMPTED, BLOCKED_ON_GATES):
        held = ended(held, kind, _RESERVED_REASON, now)
    return workload if held == workload else held


def unreserve(
    workload: Workload, reason: str, message: str, now: int, observability: Observability = LEGACY
) -> Workload:
    """Release the quota, if there is any, and set QuotaReserved to False with this reason."""
    free = with_condition(workload, QUOTA_RESERVED, "False", reason, message, now)
    if free.admission is not None:
        free = replace(free, admission=None)
    return sync_admitted(free, now, observability)


def sync_admitted(workload: Workload, now: int, observability: Observability = LEGACY) -> Workload:
    """Set Admitted: True while quota is reserved, every listed check is Ready and no topology is pending.

    When it becomes False, its whole seconds are added to the past execution time. A workload that was never admitted
    gets the condition only with granular reasons, once it has QuotaReserved.
    """
    if workload.finished:
        return workload
    reason, message = _not_admitted_because(workload, observability)
    shown = observability.granular and (QUOTA_RESERVED in workload.conditions or observability.explicit)
    if not shown and workload.admitted == (not reason):
        return workload
    if not reason:
        return with_condition(workload, ADMITTED, "True", "Admitted", "The workload is admitted", now)
    if workload.admitted:
        ran = max(0, now - workload.conditions[ADMITTED].since) // SECOND
        workload = replace(workload, past_seconds=(workload.past_seconds or 0) + ran)
    return with_condition(workload, ADMITTED, "False", reason, message, now)


def waits_for_topology(workload: Workload) -> bool:
    """Whether a pod set with quota has a pending topology assignment."""
    return any(map(waits_for_places, workload.assignments))


def waits_for_places(entry: PodSetAdmission) -> bool:
    return entry.topology is None and entry.delayed == "Pending"


def placed_elsewhere(workload: Workload) -> Workload:
    """The workload after a worker cluster has assigned its places. They are not copied."""
    admission = workload.admission
    if admission is None:
        return workload
    entries = tuple(
        replace(entry, delayed="Ready") if entry.delayed == "Pending" else entry for entry in admission.assignments
    )
    return replace(workload, admission=replace(admission, assignments=entries))


def _not_admitted_because(workload: Workload, observability: Observability) -> tuple[str, str]:
    """The reason and message why the workload is not admitted; both empty if it is to be admitted."""
    if workload.reserved and workload.checks_ready and not waits_for_topology(workload):
        return "", ""
    if not workload.reserved and not workload.checks_ready and not observability.granular:
        return "NoReservationUnsatisfiedChecks", "The workload has no reservation and not all checks ready"
    if not workload.reserved:
        return "NoReservation", "The workload has no reservation"
    if not workload.checks_ready:
        reason = "UnsatisfiedAdmissionChecks" if observability.granular else "UnsatisfiedChecks"
        return reason, "The workload has not all checks ready"
    return "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
