"""Turns the steps of a job into writes of the job or its Workload, with an Event."""

from __future__ import annotations

import logging

from cluster.actions import Delete
from reconciler.controllers.jobs.record import JobId, VisibleJob
from reconciler.jobs.described import JobKind
from reconciler.jobs.step import JobStep
from reconciler.jobs.superseded import idle
from reconciler.objects.observed import Key
from reconciler.objects.packed import Packed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from reconciler.shards.partition import WORK_AT
from scheduling.objects.workload import Workload

log = logging.getLogger(__name__)

WORKLOAD = "Workload"


def awaited(job: Key, visible: VisibleJob, *, there: bool) -> tuple[Key, ...]:
    """The objects that must be free before the job gets its next step: not in flight, and managed by this part.

    `there`: whether the Workload is stored. Without one, the job belongs to the part that manages its queue.
    """
    return job, (WORKLOAD, visible.workload), *(() if there else ((WORK_AT, visible.local_queue),))


def wanted(kind: JobKind, job: Key, uid: str, workload: str, step: JobStep) -> WantedWrite:
    """The write of the job or its Workload. Its Event refers to the job with this `uid`."""
    of_job = step.action is not None and step.action.resource == kind.resource
    key = job if of_job else (WORKLOAD, workload)
    return WantedWrite(
        key,
        step.action,
        about(kind, job, uid),
        step.reason,
        step.message,
        step.warning,
        workload=workload,
        first_report=step.first_report,
    )


def about(kind: JobKind, job: Key, uid: str) -> ObjectReference | None:
    return refer(f"{kind.shape.kind.group}/{kind.shape.version}", kind.shape.kind.kind, job[1], uid)


def deletion(workload: Workload) -> Delete:
    return Delete(WORKLOADS, workload.namespace, workload.name, workload.resource_version)


def at_rest(kind: JobKind, job: JobId, packed: Packed) -> bool:
    """Whether the job has no pods, and will have none until it is started."""
    try:
        return idle(kind, packed.manifest())
    except Exception:
        log.exception("%s %s cannot be judged: it may have pods", *job.key)
        return False
