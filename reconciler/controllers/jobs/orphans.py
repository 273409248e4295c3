"""Workloads that outlive their job: they finish, so that they release their quota.

A watch that no longer shows a job may have lost it by its label, and no watch shows a job that was deleted while no
process led. So the job is looked up by its name. Source: Kueue v0.19, gate FinishOrphanedWorkloads.
"""

from __future__ import annotations

from collections.abc import Container

from policies.dialects.core import POD
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata
from policies.model.objects import GroupKind
from scheduling.objects.naming import workload_names
from scheduling.objects.workload import JOB_UID, ORIGIN, Workload


def disowned(workload: Workload) -> bool:
    """Whether the Workload was created for one job, not a Pod, and has lost it. Copies on a worker never had one."""
    uid = workload.labels.get(JOB_UID, "")
    if not uid or workload.owners or ORIGIN in workload.labels:
        return False
    return workload.name not in workload_names(POD, workload.name.removeprefix("pod-").rpartition("-")[0], uid)


def disowned_by(workload: Workload, uid: str) -> bool:
    """Whether the Workload was created for the job with this uid, and has lost it."""
    return disowned(workload) and workload.labels[JOB_UID] == uid


def has_owner(workload: Manifest, kinds: Container[GroupKind]) -> bool:
    """Whether one of the Workload's owners is of one of these kinds."""
    return any(group_kind(owner) in kinds for owner in map(mapping, listing(metadata(workload).get("ownerReferences"))))
