"""What a job reports of its pods while it waits or runs: whether they are ready, and which are done for good."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.actions import Patch
from policies.dialects.reading import Manifest
from reconciler.jobs.kind import JobKind
from reconciler.jobs.step import JobInputs, Step
from reconciler.objects.patches import RECLAIMABLE_MANAGER, condition_manager, status_patch
from scheduling.objects.workload import PODS_READY, Workload
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import WAIT_FOR_RECOVERY, WAIT_FOR_START, pods_ready
from scheduling.status.progress import limited_to_sizes, with_reclaimable


def reported(kind: JobKind, job: Manifest, read: Workload, inputs: JobInputs, now: int) -> list[Step]:
    """The status of its Workload with what the job reports; nothing where that is not new."""
    action = report_patch(read, kind.reclaimable(job), kind.ready(job), inputs, now)
    return [Step(action)] if action is not None else []


def report_patch(read: Workload, done: Mapping[str, int], ready: bool, inputs: JobInputs, now: int) -> Patch | None:
    """The same by numbers: how many pods of each set are done for good, and whether the others are all ready."""
    after = reclaimed = _with_reclaimable(read, done)
    if inputs.pods_ready:
        after = _with_readiness(reclaimed, ready, now)
    return status_patch(read, after, RECLAIMABLE_MANAGER if after == reclaimed else condition_manager(PODS_READY))


def _with_reclaimable(read: Workload, finished: Mapping[str, int]) -> Workload:
    """While quota is reserved the numbers only rise: what was freed may be in use by others."""
    done = limited_to_sizes(read, finished)
    if read.reserved:
        names = dict.fromkeys((*read.reclaimable, *done))
        done = {name: max(read.reclaimable.get(name, 0), done.get(name, 0)) for name in names}
    return with_reclaimable(read, done)


def _with_readiness(read: Workload, ready: bool, now: int) -> Workload:
    """Written where status or reason changes. A Workload that says nothing yet waits for its pods all the same."""
    before = read.conditions.get(PODS_READY)
    if read.admitted:
        after = pods_ready(read, ready, now)
    elif before is not None and (before.status == "True" or before.reason == WAIT_FOR_RECOVERY):
        after = with_condition(read, PODS_READY, "False", WAIT_FOR_START, "Not all pods are ready", now)
    else:
        return read
    now_told = after.conditions[PODS_READY]
    if before is None:
        return after if now_told.status == "True" else read
    return read if (before.status, before.reason) == (now_told.status, now_told.reason) else after
