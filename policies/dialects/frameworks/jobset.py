"""JobSet, v1alpha2. Source: Kueue v0.19, pkg/controller/jobs/jobset."""

from __future__ import annotations

from policies.dialects.frameworks.batch import COMPLETION_INDEX, JOB
from policies.dialects.job_shape import (
    Active,
    Count,
    JobShape,
    PodSetPath,
    ReadyPods,
    ReclaimableCount,
    Sign,
    SuspendField,
)
from policies.model.objects import GroupKind

FRAMEWORKS = (
    JobShape(
        kind=GroupKind("jobset.x-k8s.io", "JobSet"),
        version="v1alpha2",
        plural="jobsets",
        pod_sets=(
            PodSetPath(
                "name",
                "template.spec.template",
                (Count("replicas"), Count("template.spec.parallelism", at_most="template.spec.completions")),
                entries="spec.replicatedJobs",
                index_label=COMPLETION_INDEX,
                sub_group_label="jobset.sigs.k8s.io/job-index",
            ),
        ),
        suspend=SuspendField("spec.suspend"),
        succeeded=Sign(("Completed",)),
        failed=Sign(("Failed",)),
        ready=ReadyPods(
            counts=("status.replicatedJobsStatus.*.ready", "status.replicatedJobsStatus.*.succeeded"),
            of=("spec.replicatedJobs.*.replicas",),
        ),
        active=Active(("status.replicatedJobsStatus.*.active",), resumed="Suspended"),
        reclaimable=ReclaimableCount("status.replicatedJobsStatus", "name", "succeeded"),
        managed_by="spec.managedBy",
        controller="jobset.sigs.k8s.io/jobset-controller",
        makes=(JOB.kind,),
    ),
)
