"""The patches of a batch Job: its spec as it is to run, or as it was submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cluster.actions import Patch
from cluster.resource import JOBS
from policies.dialects.reading import Manifest, mapping
from reconciler.jobs import job_state
from reconciler.jobs.composed import original
from reconciler.jobs.kind import job_patch
from reconciler.jobs.pod_changes import MANAGED_LABELS, CannotStart, changes, restored, started
from reconciler.jobs.step import JobInputs
from reconciler.objects.patches import differences
from scheduling.objects.workload import Workload


def batch_patch(job: Manifest, body: Mapping[str, Any], subresource: str | None = None) -> Patch:
    return job_patch(JOBS, job, body, subresource)


def without_start_time(job: Manifest) -> Patch:
    """API servers before 1.36 allow changes of the pod template only if the Job has never started."""
    return batch_patch(job, {"status": {"startTime": None}}, "status")


def spec_change(job: Manifest, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch of its spec to these fields; empty if the spec has these values."""
    spec = mapping(job.get("spec"))
    return differences({key: spec[key] for key in wanted if key in spec}, wanted)


def as_admitted(job: Manifest, read: Workload, inputs: JobInputs) -> dict[str, Any] | None:
    """The fields of its spec as it is to run; None while a flavor is not known. Raises CannotStart."""
    assigned = changes(read, inputs.flavors)
    if assigned is None:
        return None
    if len(assigned) != 1:
        raise CannotStart(f"quota is assigned to {len(assigned)} pod sets, a Job has one")
    count = assigned[0].count
    size = job_state.sized(job, count) if job_state.partial(job) and count is not None else {}
    return {"template": started(job_state.template(job), assigned[0]), **size}


def as_submitted(job: Manifest, workload: Manifest) -> dict[str, Any]:
    """The same fields as its Workload has kept them; empty if it has none."""
    own = original(workload)
    if not own:
        return {}
    size = job_state.sized(job, own.get("count", 1)) if job_state.partial(job) else {}
    return {"template": restored(job_state.template(job), mapping(own.get("template")), MANAGED_LABELS), **size}
