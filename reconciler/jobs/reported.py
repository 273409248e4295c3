"""What a Job tells of its pods while it waits or runs: whether they are ready, and which are done for good."""

from __future__ import annotations

from policies.dialects.reading import Manifest
from reconciler.jobs import job_state
from reconciler.jobs.step import JobSurroundings, Step
from reconciler.patches import RECLAIMABLE_MANAGER, condition_manager, status_patch
from scheduling.objects.submission import reclaimable_of_job
from scheduling.objects.workload import PODS_READY, Workload
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import WAIT_FOR_RECOVERY, WAIT_FOR_START, pods_ready
from scheduling.status.progress import limited_to_sizes, with_reclaimable


def reported(job: Manifest, read: Workload, around: JobSurroundings, now: int) -> list[Step]:
    """The status of its Workload with what the Job tells; nothing where it tells nothing new."""
    after = reclaimed = _with_reclaimable(job, read)
    if around.pods_ready:
        after = _with_readiness(job, reclaimed, now)
    manager = RECLAIMABLE_MANAGER if after == reclaimed else condition_manager(PODS_READY)
    action = status_patch(read, after, manager)
    return [Step(action)] if action is not None else []


def _with_reclaimable(job: Manifest, read: Workload) -> Workload:
    """While quota is reserved the numbers only rise: what was given back may be in use by others."""
    done = limited_to_sizes(read, reclaimable_of_job(job))
    if read.reserved:
        names = dict.fromkeys((*read.reclaimable, *done))
        done = {name: max(read.reclaimable.get(name, 0), done.get(name, 0)) for name in names}
    return with_reclaimable(read, done)


def _with_readiness(job: Manifest, read: Workload, now: int) -> Workload:
    """Written where status or reason changes. A Workload that says nothing yet waits for its pods all the same."""
    before = read.conditions.get(PODS_READY)
    if read.admitted:
        after = pods_ready(read, job_state.all_ready(job), now)
    elif before is not None and (before.status == "True" or before.reason == WAIT_FOR_RECOVERY):
        after = with_condition(read, PODS_READY, "False", WAIT_FOR_START, "Not all pods are ready", now)
    else:
        return read
    told = after.conditions[PODS_READY]
    if before is None:
        return after if told.status == "True" else read
    return read if (before.status, before.reason) == (told.status, told.reason) else after
