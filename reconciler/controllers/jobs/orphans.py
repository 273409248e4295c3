"""Workloads that outlive their job: they are finished, so that they release their quota.

If a watch no longer shows a job, only its label may have been removed. And no watch reports that a job was deleted
while no process led. So the job is looked up by name. Source: Kueue v0.19, gate FinishOrphanedWorkloads.
"""

from __future__ import annotations

from collections.abc import Container

from policies.dialects.core import POD
from policies.dialects.reading import Manifest, group_kind, listing, mapping, metadata
from policies.model.objects import GroupKind
from scheduling.objects.naming import workload_names
from scheduling.objects.workload import JOB_UID, ORIGIN, Workload


def disowned(workload: Workload) -> bool:
    """Whether the Workload was created for a single job other than a Pod, and no longer has an owner reference to it.
    Copies on a worker never have owners.
    """
    uid = workload.labels.get(JOB_UID, "")
    if not uid or workload.owners or ORIGIN in workload.labels:
        return False
    return workload.name not in workload_names(POD, workload.name.removeprefix("pod-").rpartition("-")[0], uid)


def disowned_by(workload: Workload, uid: str) -> bool:
    """Whether the Workload was created for the job with this uid, and no longer has an owner reference to it."""
    return disowned(workload) and workload.labels[JOB_UID] == uid


def has_owner(workload: Manifest, kinds: Container[GroupKind]) -> bool:
    """Whether an owner of the Workload is of one of these kinds."""
    return any(group_kind(owner) in kinds for owner in map(mapping, listing(metadata(workload).get("ownerReferences"))))
