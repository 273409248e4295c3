"""A job as its controller keeps it, and what is written about it: of the job or its Workload, with an Event."""

from __future__ import annotations

import logging
from typing import NamedTuple

from cluster.actions import Delete
from reconciler.jobs.kind import JobKind
from reconciler.jobs.step import Step
from reconciler.jobs.superseded import idle
from reconciler.objects.observed import Key
from reconciler.objects.packed import Packed
from reconciler.objects.patches import WORKLOADS
from reconciler.objects.wanted import ObjectReference, WantedWrite, refer
from reconciler.parts.partition import WORK_AT
from scheduling.objects.workload import Workload

log = logging.getLogger(__name__)

WORKLOAD = "Workload"


class Held(NamedTuple):
    """`workload`, as `namespace/name`, stands for the job. `going`: the job is being deleted.

    `sliced`: it is elastic. `moves`: another Workload may come to stand for it without a change of its own. `queue` as
    `namespace/name`, without a name where it names none.
    """

    packed: Packed
    workload: str
    uid: str
    going: bool
    sliced: bool
    moves: bool
    queue: str


def awaited(job: Key, held: Held, *, there: bool) -> tuple[Key, ...]:
    """What nobody may be writing, and no other part look after: a job whose Workload is not `there` is of its queue."""
    return job, (WORKLOAD, held.workload), *(() if there else ((WORK_AT, held.queue),))


def wanted(kind: JobKind, job: Key, uid: str, workload: str, step: Step) -> WantedWrite:
    """What is written is the job or its Workload; the Event is about the job, which has this `uid`."""
    of_job = step.action is not None and step.action.resource == kind.resource
    key = job if of_job else (WORKLOAD, workload)
    return WantedWrite(
        key, step.action, about(kind, job, uid), step.reason, step.message, step.warning, workload=workload
    )


def about(kind: JobKind, job: Key, uid: str) -> ObjectReference | None:
    return refer(f"{kind.shape.kind.group}/{kind.shape.version}", kind.shape.kind.kind, job[1], uid)


def deletion(workload: Workload) -> Delete:
    return Delete(WORKLOADS, workload.namespace, workload.name, workload.resource_version)


def at_rest(kind: JobKind, held: Held) -> bool:
    """Whether it has no pods, and will have none while nobody starts it."""
    try:
        return idle(kind, held.packed.manifest())
    except Exception:
        log.exception("%s %s cannot be judged: it may have pods", kind.name, held.uid)
        return False
