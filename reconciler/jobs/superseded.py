"""Workloads that do not represent their job any more, or outlive it. They must not keep quota.

If a watch no longer shows a job, only its label may have been removed. And no watch reports that a job was deleted
while no process led. So the job is looked up by name. Source: Kueue v0.19, gate FinishOrphanedWorkloads, and
ensureOneWorkload in pkg/controller/jobframework/reconciler.go.
"""

from __future__ import annotations

from collections.abc import Container

from policies.dialects.core import POD
from policies.dialects.kueue_owners import controller_of
from policies.dialects.naming import workload_names
from policies.dialects.reading import Manifest, group_kind, metadata, owner_references
from policies.model.objects import GroupKind
from reconciler.jobs.described import JobKind
from reconciler.jobs.step import JobInputs
from scheduling.objects.workload import JOB_UID, ORIGIN, Workload


def controller(workload: Manifest) -> str:
    found = controller_of(metadata(workload))
    return found.uid if found is not None else ""


def idle(kind: JobKind, job: Manifest) -> bool:
    """Whether the job has no pods, and will have none until it is started."""
    if kind.ending(job):
        return True
    return kind.suspended(job) and not kind.halfway(job) and kind.quiet(job)


def in_use(other: Workload, kind: JobKind, job: Manifest, chosen: Workload | None, inputs: JobInputs) -> bool:
    """Whether pods of `job` may still use the quota of `other`. `chosen`: the Workload that represents the job."""
    if not other.reserved or idle(kind, job):
        return False
    if chosen is None or not chosen.admitted or kind.suspended(job):
        return True
    return not kind.runs_as_admitted(job, chosen, inputs)


def may_go(other: Workload, kind: JobKind, job: Manifest, chosen: Workload | None, inputs: JobInputs) -> bool:
    """Whether to delete `other`, which no longer represents `job`: only when no pods use its quota. `chosen`: the
    Workload that represents the job.
    """
    if other.finished or other.deleting:
        return False
    return not in_use(other, kind, job, chosen, inputs)


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
    return any(group_kind(owner) in kinds for owner in owner_references(workload))
