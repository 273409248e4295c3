"""Quota reserved and given back, and whether that makes a workload admitted.

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
    """Quota is held for it; what its eviction said is over. Whether it is admitted, `sync_admitted` tells."""
    message = f"Quota reserved in ClusterQueue {admission.cluster_queue}"
    held = with_condition(
        replace(workload, admission=admission), QUOTA_RESERVED, "True", _RESERVED_REASON, message, now
    )
    for kind in (EVICTED, PREEMPTED, BLOCKED_ON_GATES):
        held = ended(held, kind, _RESERVED_REASON, now)
    return workload if held == workload else held


def unreserve(workload: Workload, reason: str, message: str, now: int, *, detailed: bool = True) -> Workload:
    """Quota is not, or no longer, held for it, for this reason. `detailed` as for `sync_admitted`."""
    free = with_condition(workload, QUOTA_RESERVED, "False", reason, message, now)
    if free.admission is not None:
        free = replace(free, admission=None)
    return sync_admitted(free, now, detailed=detailed)


def sync_admitted(workload: Workload, now: int, *, detailed: bool = True) -> Workload:
    """Admitted is True while quota is reserved, every check listed is Ready and no topology is still to be made.

    The whole seconds that it was admitted are added to its past when it no longer is. `detailed` is Kueue's gate
    UnadmittedWorkloadsObservability: what was never admitted says why, too.
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
    """Whether some pod set was given quota but no place yet."""
    assignments = workload.admission.assignments if workload.admission is not None else ()
    return any(entry.topology is None and entry.delayed == "Pending" for entry in assignments)


def _why_not(workload: Workload, detailed: bool) -> tuple[str, str]:
    """(reason, message) of not being admitted; both empty where it should be."""
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
