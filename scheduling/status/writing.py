"""Writes the status of a Workload as JSON. As in Kueue, empty fields are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduling.objects import amounts, times
from scheduling.objects.workload import Admission, CheckState, Condition, PodSetAdmission, Workload


def written_status(workload: Workload) -> dict[str, Any]:
    """The status fields that decisions read or write. Reading them back gives the same Workload."""
    return {key: value for key, value in _fields(workload) if value}


def _fields(workload: Workload) -> Iterator[tuple[str, Any]]:
    yield "conditions", [written_condition(kind, found) for kind, found in workload.conditions.items()]
    yield "admission", written_admission(workload.admission) if workload.admission is not None else None
    yield "requeueState", _requeue(workload)
    yield "reclaimablePods", [{"name": name, "count": count} for name, count in workload.reclaimable.items()]
    yield "admissionChecks", [written_check(check) for check in workload.checks]
    yield (
        "resourceRequests",
        [{"name": name, "resources": amounts.resource_list(each)} for name, each in workload.resource_requests.items()],
    )
    yield "accumulatedPastExecutionTimeSeconds", workload.past_seconds
    yield "schedulingStats", {"evictions": _evictions(workload)} if workload.evictions else None
    yield "nominatedClusterNames", list(workload.nominated)
    yield "clusterName", workload.cluster
    yield "unhealthyNodes", [{"name": name} for name in workload.unhealthy_nodes]
    yield (
        "preemptionGates",
        [
            {"name": name, "position": gate.position, **_moment("lastTransitionTime", gate.since)}
            for name, gate in workload.gate_states.items()
        ],
    )


def written_condition(kind: str, condition: Condition) -> dict[str, Any]:
    return {
        "type": kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        **_moment("lastTransitionTime", condition.since),
        **({"observedGeneration": condition.generation} if condition.generation else {}),
    }


def written_admission(admission: Admission) -> dict[str, Any]:
    assignments = [_assignment(entry) for entry in admission.assignments]
    return {"clusterQueue": admission.cluster_queue, "podSetAssignments": assignments}


def written_check(check: CheckState) -> dict[str, Any]:
    optional = {
        "requeueAfterSeconds": check.requeue_after,
        "retryCount": check.retries,
        "podSetUpdates": [dict(update) for update in check.updates] or None,
    }
    return {
        "name": check.name,
        "state": check.state,
        "message": check.message,
        **_moment("lastTransitionTime", check.since),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _assignment(entry: PodSetAdmission) -> dict[str, Any]:
    optional: Mapping[str, Any] = {
        "flavors": dict(entry.flavors) or None,
        "resourceUsage": amounts.resource_list(entry.usage) or None,
        "count": entry.count,
        "topologyAssignment": entry.topology,
        "delayedTopologyRequest": entry.delayed or None,
    }
    return {"name": entry.name, **{key: value for key, value in optional.items() if value is not None}}


def _requeue(workload: Workload) -> dict[str, Any] | None:
    state = workload.requeue
    if state is None:
        return None
    return {**({"count": state.count} if state.count is not None else {}), **_moment("requeueAt", state.at)}


def _evictions(workload: Workload) -> list[dict[str, Any]]:
    return [{"reason": each.reason, "underlyingCause": each.cause, "count": each.count} for each in workload.evictions]


def _moment(key: str, moment: int) -> dict[str, str]:
    return {key: times.rfc3339(moment)} if moment else {}
