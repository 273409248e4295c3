"""Workloads that do not represent their job any more. They must not have quota in addition to the one that does.

Source: Kueue v0.19, ensureOneWorkload in pkg/controller/jobframework/reconciler.go.
"""

from __future__ import annotations

from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from reconciler.jobs.described import JobKind
from reconciler.jobs.step import JobInputs
from scheduling.objects.workload import Workload


def controller(workload: Manifest) -> str:
    owners = map(mapping, listing(metadata(workload).get("ownerReferences")))
    return next((text(owner.get("uid")) or "" for owner in owners if owner.get("controller") is True), "")


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
