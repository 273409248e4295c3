"""The batch Job: what it needs beyond its description to start, stop and shrink.

Its pod template may change only while it is suspended and has no pods. So a stop takes two writes, with an annotation
between them. Source: Kueue v0.19, pkg/controller/jobs/job; Kubernetes' Job controller.
"""

from __future__ import annotations

from functools import partial

from cluster.actions import Patch
from policies.dialects.frameworks import batch
from policies.dialects.job_shape import at, total
from policies.dialects.reading import Manifest, listing
from reconciler.jobs import job_state
from reconciler.jobs.described import Described
from reconciler.jobs.elastic import with_gate
from reconciler.jobs.job_patches import as_admitted, as_submitted, batch_patch, spec_change, without_start_time
from reconciler.jobs.kind import STOP_FORGOTTEN, STOP_NOTED, Writing
from reconciler.jobs.pod_changes import MANAGED_LABELS, all_placed, placed
from reconciler.jobs.step import JobInputs
from scheduling.objects.reclaimable import reclaimable_of_job
from scheduling.objects.workload import Workload

REPLACEMENT = "spec.podReplacementPolicy"


class BatchJob(Described):
    """See `reconciler.jobs.kind.JobKind`."""

    own_labels = MANAGED_LABELS
    name = "Job"

    def terminating(self, job: Manifest) -> bool:
        return total(job, ("status.terminating",)) > 0

    def ready(self, job: Manifest) -> bool:
        """Pods that succeeded and are not counted yet are done as well."""
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
            wanted = {**wanted, "template": at(with_gate(self, {**job, "spec": wanted}), "spec.template")}
        change = spec_change(job, wanted)
        if change and job_state.has_started(job):
            return Writing(without_start_time(job), reported=False)
        return Writing(batch_patch(job, {"spec": {"suspend": False, **change, **_replacement(job, inputs)}}))

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """A Job has one pod set: it starts with the one that has quota, whatever the admission calls it."""
        return all_placed(read, inputs.flavors, partial(placed, job_state.template(job)))

    def adjusting(self, job: Manifest, inputs: JobInputs) -> Patch | None:
        change = _replacement(job, inputs)
        return batch_patch(job, {"spec": change}) if change else None

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """The Job is suspended first, with an annotation that says that its pod template is still to be restored."""
        change = spec_change(job, as_submitted(job, workload)) if workload is not None else {}
        if not self.suspended(job):
            return Writing(batch_patch(job, {"spec": {"suspend": True}, **(STOP_NOTED if change else {})}))
        if not self.halfway(job) and not (change and reserved):
            return None
        if not self.quiet(job):
            return None
        if change and job_state.has_started(job):
            return Writing(without_start_time(job), reported=False)
        return Writing(batch_patch(job, {**STOP_FORGOTTEN, **({"spec": change} if change else {})}), reported=False)


def _replacement(job: Manifest, inputs: JobInputs) -> dict[str, str]:
    """The Job controller replaces a Pod that is being deleted at once, unless the Job says otherwise."""
    as_wanted = not inputs.counts_ending or at(job, REPLACEMENT) == "Failed"
    return {} if as_wanted else {REPLACEMENT.partition(".")[2]: "Failed"}


BATCH = BatchJob(batch.JOB)
