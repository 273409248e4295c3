"""The writes of a Workload after a decision, bound to the version that was read.

Kueue uses server-side apply for a status, with one field manager for each purpose. Quotree applies the same fields with
the same managers, so that each of the two can remove what the other one wrote.
Source: Kueue v0.19 and v0.20, pkg/workload/patching.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cluster.actions import Apply, Patch
from cluster.resource import Resource
from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING
from policies.dialects.kueue_kinds import GROUP
from policies.mutation.patching import merge_patch
from scheduling.objects.workload import (
    ADMITTED,
    BLOCKED_ON_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    WAITING_FOR_REPLACEMENT,
    Workload,
)
from scheduling.status.writing import written_status

WORKLOADS = Resource(GROUP, "v1beta2", "workloads", namespaced=True)
ADMISSION_MANAGER = "kueue-admission"
RECLAIMABLE_MANAGER = "kueue-reclaimable-pods"
JOB_MANAGER = "kueue-job-controller"
_MANAGER_OF = {FINISHED: ADMISSION_MANAGER, WAITING_FOR_REPLACEMENT: "kueue-pod-controller"}
_OF_ADMISSION = {
    "admission",
    "requeueState",
    "admissionChecks",
    "resourceRequests",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    "nominatedClusterNames",
    "clusterName",
    "unhealthyNodes",
    "preemptionGates",
}
_CONDITIONS_OF_ADMISSION = {
    QUOTA_RESERVED,
    BLOCKED_ON_GATES,
    EVICTED,
    ADMITTED,
    PREEMPTED,
    REQUEUED,
    DEACTIVATION_TARGET,
    FINISHED,
    PODS_READY,
}
_OUR_OWN = "quotree.dev/"
"""The prefix of conditions that Kueue does not have. They are written with the admission fields, in one request."""
_LISTS = {"conditions": "type", "admissionChecks": "name"}
"""The lists in which each entry may have its own manager, with the field that names an entry."""
_EntryKey = tuple[str, str]
"""A field of the status and, for a list, the name of an entry."""


def manager_of(kind: str) -> str:
    """The field manager of Kueue's controller for this kind, except Workloads."""
    return f"kueue-{kind.lower()}-controller"


def condition_manager(kind: str) -> str:
    """The field manager of a condition that a job reports, such as Finished or PodsReady."""
    return _MANAGER_OF.get(kind, f"{JOB_MANAGER}-{kind}")


def status_patch(before: Workload, after: Workload, manager: str) -> Patch | None:
    """The write that turns one status into the other; None if both are equal as written.

    `before`: the Workload as it was read. The write is bound to its version.

    If several writes are needed, this is the first one. The next decision leads to the others.
    """
    if after is before:
        return None
    if before.admission is not None and not before.reserved and after.admission not in (None, before.admission):
        # An admission cannot be changed into another one, so it is removed first.
        return patch(before, {"status": {"admission": None}}, ADMISSION_MANAGER, "status")
    was, now = _entries(written_status(before)), _entries(written_status(after))
    changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    if not changed:
        return None
    owner = _owner(changed, manager)
    then = {key: side[key] for key in was | now if key in (side := now if _owns(owner, key) else was)}
    owned = {
        key: value
        for key, value in then.items()
        if _owns(owner, key) and (key in changed or owner != MULTIKUEUE)  # MULTIKUEUE owns only its own check
    }
    body = {"status": merge_patch(_status(was), _status(then))}
    applied = {"apiVersion": f"{GROUP}/{WORKLOADS.version}", "kind": "Workload", "status": _status(owned)}
    version = before.resource_version
    return Apply(WORKLOADS, before.namespace, before.name, body, version, owner, "status", applied=applied)


def _owner(changed: Iterable[_EntryKey], manager: str) -> str:
    """The manager to use: `manager` or that of admissions if it owns all changes, otherwise the owner of one change."""
    for each in (manager, ADMISSION_MANAGER):
        if all(_owns(each, key) for key in changed):
            return each
    field, kind = min(key for key in changed if not _owns(ADMISSION_MANAGER, key))
    return condition_manager(kind) if field == "conditions" else RECLAIMABLE_MANAGER


def _owns(manager: str, key: _EntryKey) -> bool:
    field, name = key
    if manager == ADMISSION_MANAGER:
        return field in _OF_ADMISSION or name in _CONDITIONS_OF_ADMISSION or name.startswith(_OUR_OWN)
    if manager == RECLAIMABLE_MANAGER:
        return field == "reclaimablePods"
    if manager in (MULTIKUEUE, PROVISIONING):
        return field == "admissionChecks"
    return field == "conditions" and condition_manager(name) == manager


def _entries(status: Mapping[str, Any]) -> dict[_EntryKey, Any]:
    found: dict[_EntryKey, Any] = {}
    for field, value in status.items():
        if field in _LISTS:
            found |= {(field, entry[_LISTS[field]]): entry for entry in value}
        else:
            found[field, ""] = value
    return found


def _status(entries: Mapping[_EntryKey, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (field, name), value in entries.items():
        if name:
            found.setdefault(field, []).append(value)
        else:
            found[field] = value
    return found


def spec_patch(before: Workload, after: Workload) -> Patch | None:
    """The patch of `spec.active`. It is written separately, before the status."""
    if before.active == after.active:
        return None
    return patch(before, {"spec": {"active": after.active}}, ADMISSION_MANAGER)


def patch(workload: Workload, body: Mapping[str, Any], manager: str, subresource: str | None = None) -> Patch:
    """A merge patch of the Workload, bound to the version that was read."""
    version = workload.resource_version
    return Patch(WORKLOADS, workload.namespace, workload.name, body, version, manager, subresource)


def patched(body: Mapping[str, Any]) -> list[str]:
    """The paths that a merge patch changes, at most two levels deep, such as `spec.suspend`."""
    return [
        f"{key}.{field}" if field else key
        for key, value in body.items()
        for field in (value if isinstance(value, Mapping) else [""])
    ]


def alike(a: Workload, b: Workload) -> bool:
    """Whether they are equal except for the version."""
    return replace(a, resource_version="", generation=0) == replace(b, resource_version="", generation=0)
