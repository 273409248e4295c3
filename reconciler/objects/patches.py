"""The writes of a Workload after a decision: merge patches of the changed fields, bound to the version that was read.

Kueue writes with server-side apply and one field manager for each purpose. The same managers are named here, so that
`managedFields` shows the writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cluster.actions import Patch
from cluster.resource import Resource
from policies.dialects.kueue_kinds import GROUP
from scheduling.objects.workload import Workload
from scheduling.status.writing import written_status

WORKLOADS = Resource(GROUP, "v1beta2", "workloads", namespaced=True)
ADMISSION_MANAGER = "kueue-admission"
RECLAIMABLE_MANAGER = "kueue-reclaimable-pods"
JOB_MANAGER = "kueue-job-controller"


def condition_manager(kind: str) -> str:
    """The field manager of a condition that a job reports, such as Finished or PodsReady."""
    return f"{JOB_MANAGER}-{kind}"


def status_patch(before: Workload, after: Workload, manager: str) -> Patch | None:
    """The patch from one status to the other; None if both are written the same.

    `before`: the Workload as it was read; the write is bound to its resource version.
    """
    if after is before:
        return None
    body = differences(written_status(before), written_status(after))
    return patch(before, {"status": body}, manager, "status") if body else None


def spec_patch(before: Workload, after: Workload) -> Patch | None:
    """The patch of `spec.active`. It is a write of its own, before the one of the status."""
    if before.active == after.active:
        return None
    return patch(before, {"spec": {"active": after.active}}, ADMISSION_MANAGER)


def patch(workload: Workload, body: Mapping[str, Any], manager: str, subresource: str | None = None) -> Patch:
    """A merge patch of the Workload as it was read."""
    version = workload.resource_version
    return Patch(WORKLOADS, workload.namespace, workload.name, body, version, manager, subresource)


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) from one to the other. A missing field becomes None; a changed list is replaced."""
    changed: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        known = before.get(key)
        if value == known and key in before:
            continue
        both = isinstance(value, Mapping) and isinstance(known, Mapping)
        changed[key] = differences(known or {}, value) if both else value
    return changed


def patched(body: Mapping[str, Any]) -> list[str]:
    """The paths that a merge patch changes, at most two levels deep, such as `spec.suspend`."""
    return [
        f"{key}.{field}" if field else key
        for key, value in body.items()
        for field in (value if isinstance(value, Mapping) else [""])
    ]


def alike(a: Workload, b: Workload) -> bool:
    """Whether they differ in nothing but the version."""
    return replace(a, resource_version="", generation=0) == replace(b, resource_version="", generation=0)
