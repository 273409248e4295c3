"""Kubernetes' own Job. Source: Kueue v0.19, pkg/controller/jobs/job."""

from __future__ import annotations

from policies.dialects.core import POD
from policies.dialects.job_shape import Active, Count, JobShape, PodSetPath, ReadyPods, Sign, SuspendField
from policies.model.objects import GroupKind

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

JOB = JobShape(
    kind=GroupKind("batch", "Job"),
    version="v1",
    plural="jobs",
    default=True,
    pod_sets=(
        PodSetPath(
            "main",
            "spec.template",
            (Count("spec.parallelism", at_most="spec.completions"),),
            index_label=COMPLETION_INDEX,
        ),
    ),
    suspend=SuspendField("spec.suspend"),
    succeeded=Sign(("Complete",)),
    failed=Sign(("Failed",)),
    ready=ReadyPods(counts=("status.ready", "status.succeeded")),
    active=Active(("status.active",), resumed="Suspended"),
    managed_by="spec.managedBy",
    controller="kubernetes.io/job-controller",
    makes=(POD,),
    elastic=True,
    own_webhook=True,
)
FRAMEWORKS = (JOB,)
