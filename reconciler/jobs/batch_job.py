"""The batch Job: what its start, stop and resize need beyond the description of its kind.

The pod template of a Job may change only while the Job is suspended and has no pods. So a stop takes two writes. The
first one suspends the Job and sets an annotation, the second one restores the template and removes the annotation.
Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes' Job controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from cluster.actions import Patch
from cluster.resource import JOBS
from policies.dialects.frameworks import batch
from policies.dialects.go_values import TRUE
from policies.dialects.job_shape import at, total
from policies.dialects.kueue_jobs import COMPLETIONS_FOLLOW, min_parallelism
from policies.dialects.reading import Manifest, listing, mapping
from policies.mutation.patching import merge_patch
from reconciler.jobs.composed import original
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import with_gate
from reconciler.jobs.kind import STOP_FORGOTTEN, STOP_NOTED, Writing, job_patch, notes
from reconciler.jobs.pod_changes import MANAGED_LABELS, CannotStart, all_placed, changes, placed, restored, started
from reconciler.jobs.step import JobInputs
from scheduling.objects.reclaimable import reclaimable_of_job
from scheduling.objects.workload import Workload

REPLACEMENT = "spec.podReplacementPolicy"


class BatchJob(JobKind):
    """Jobs of the group batch."""

    own_labels = MANAGED_LABELS
    name = "Job"

    def terminating(self, job: Manifest) -> bool:
        return total(job, ("status.terminating",)) > 0

    def ready(self, job: Manifest) -> bool:
        """Pods that succeeded but are not counted in `status.succeeded` yet are done, too."""
        uncounted = len(listing(at(job, "status.uncountedTerminatedPods.succeeded")))
        done = total(job, ("status.ready", "status.succeeded")) + uncounted
        return done >= sum(pods.count for pods in self.pods(job))

    def reclaimable(self, job: Manifest) -> dict[str, int]:
        return reclaimable_of_job(job)

    def starting(self, job: Manifest, read: Workload, inputs: JobInputs) -> Writing | None:
        wanted = as_admitted(job, read, inputs)
        if wanted is None:
            return None
        if inputs.elastic:
            whole = {**job, "spec": {**mapping(job.get("spec")), **wanted}}
            wanted = {**wanted, "template": at(with_gate(self, whole), "spec.template")}
        change = spec_change(job, wanted)
        if change and _has_started(job):
            return Writing(without_start_time(job), reported=False)
        return Writing(batch_patch(job, {"spec": {"suspend": False, **change, **_replacement(job, inputs)}}))

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """A Job has one pod set, so the name of the admitted pod set is not compared."""
        return all_placed(read, inputs.flavors, partial(placed, _template(job)))

    def adjusting(self, job: Manifest, inputs: JobInputs) -> Patch | None:
        change = _replacement(job, inputs)
        return batch_patch(job, {"spec": change}) if change else None

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """First suspend the Job, with an annotation that its pod template has to be restored; then restore it."""
        change = spec_change(job, as_submitted(job, workload)) if workload is not None else {}
        if not self.suspended(job):
            return Writing(batch_patch(job, {"spec": {"suspend": True}, **(STOP_NOTED if change else {})}))
        if not self.halfway(job) and not (change and reserved):
            return None
        if not self.quiet(job):
            return None
        if change and _has_started(job):
            return Writing(without_start_time(job), reported=False)
        return Writing(batch_patch(job, {**STOP_FORGOTTEN, **({"spec": change} if change else {})}), reported=False)


def _replacement(job: Manifest, inputs: JobInputs) -> dict[str, str]:
    """The Pod replacement policy to set. By default the Job controller replaces a Pod before it has ended."""
    as_wanted = not inputs.counts_ending or at(job, REPLACEMENT) == "Failed"
    return {} if as_wanted else {REPLACEMENT.partition(".")[2]: "Failed"}


BATCH = BatchJob(batch.JOB)


def batch_patch(job: Manifest, body: Mapping[str, Any], subresource: str | None = None) -> Patch:
    return job_patch(JOBS, job, body, subresource)


def without_start_time(job: Manifest) -> Patch:
    """Remove the start time. API servers before 1.36 allow changes of the pod template only without one."""
    return batch_patch(job, {"status": {"startTime": None}}, "status")


def spec_change(job: Manifest, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that sets these fields of the spec; empty if they have these values."""
    spec = mapping(job.get("spec"))
    return merge_patch({key: spec[key] for key in wanted if key in spec}, wanted)


def as_admitted(job: Manifest, read: Workload, inputs: JobInputs) -> dict[str, Any] | None:
    """The spec fields of the Job as it was admitted; None while a flavor is not known. Raises CannotStart."""
    assigned = changes(read, inputs.flavors)
    if assigned is None:
        return None
    if len(assigned) != 1:
        raise CannotStart(f"quota is assigned to {len(assigned)} pod sets, a Job has one")
    count = assigned[0].count
    size = _sized(job, count) if min_parallelism(notes(job)) is not None and count is not None else {}
    return {"template": started(_template(job), assigned[0]), **size}


def as_submitted(job: Manifest, workload: Manifest) -> dict[str, Any]:
    """The spec fields of the Job as it was submitted, from its Workload; empty if the Workload does not have them."""
    own = original(workload)
    if not own:
        return {}
    size = _sized(job, own.get("count", 1)) if min_parallelism(notes(job)) is not None else {}
    return {"template": restored(_template(job), mapping(own.get("template")), MANAGED_LABELS), **size}


def _has_started(job: Manifest) -> bool:
    """Whether the Job has a start time. If so, API servers before 1.36 allow no change of its pod template."""
    return at(job, "status.startTime") is not None


def _sized(job: Manifest, count: int) -> dict[str, Any]:
    follow = notes(job).get(COMPLETIONS_FOLLOW) in TRUE
    return {"parallelism": count, **({"completions": count} if follow else {})}


def _template(job: Manifest) -> Mapping[str, Any]:
    return mapping(at(job, "spec.template"))
