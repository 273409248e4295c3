"""Writes what a job reports about its pods to its Workload: whether they are ready, and how many are done for good."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.actions import Patch
from policies.dialects.reading import Manifest
from reconciler.jobs.described import JobKind
from reconciler.jobs.step import JobInputs, JobStep
from reconciler.objects.patches import RECLAIMABLE_MANAGER, condition_manager, status_patch
from scheduling.objects.workload import PODS_READY, Workload
from scheduling.status.deadlines import pods_ready
from scheduling.status.progress import limited_to_sizes, with_reclaimable


def reported(kind: JobKind, job: Manifest, read: Workload, inputs: JobInputs, now: int) -> list[JobStep]:
    """The status of the Workload with the job's report; empty if nothing has changed."""
    ready = kind.ready(job)
    action = report_patch(read, kind.reclaimable(job), ready, inputs, now)
    first = PODS_READY not in read.conditions and not read.reserved and not ready
    return [JobStep(action, first_report=first)] if action is not None else []


def report_patch(read: Workload, done: Mapping[str, int], ready: bool, inputs: JobInputs, now: int) -> Patch | None:
    """The patch of the Workload's status.

    `done`: the number of pods that have ended for good, by pod set.
    `ready`: whether all other pods are ready.
    """
    after = reclaimed = _with_reclaimable(read, done) if inputs.reclaims else read
    if inputs.pods_ready:
        after = pods_ready(reclaimed, ready, now)
    return status_patch(read, after, RECLAIMABLE_MANAGER if after == reclaimed else condition_manager(PODS_READY))


def _with_reclaimable(read: Workload, finished: Mapping[str, int]) -> Workload:
    """The Workload with these numbers of pods that are done.

    While quota is reserved, the numbers only increase, because other workloads may already use what was released.
    For a pod set that has shrunk since its admission, the number may also decrease.
    """
    done = limited_to_sizes(read, finished)
    if read.reserved:
        shrunk = _shrunk(read)
        before = {name: count for name, count in read.reclaimable.items() if name not in shrunk}
        names = dict.fromkeys((*before, *done))
        done = {name: max(before.get(name, 0), done.get(name, 0)) for name in names}
    return with_reclaimable(read, done)


def _shrunk(read: Workload) -> set[str]:
    """The pod sets that have fewer pods now than were admitted."""
    sizes = read.sizes
    entries = ((each.name, each.count) for each in read.assignments if each.count is not None)
    return {name for name, count in entries if sizes.get(name, count) < count}
