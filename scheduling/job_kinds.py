"""Where each kind of job keeps its pod sets.

Source: Kueue v0.19, pkg/controller/jobs; the kinds' own APIs.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.dialects.kueue_jobs import BATCH_JOB
from policies.objects import GroupKind
from scheduling.pod_sets import Count, PodSetPath

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def _replicas(field: str, *types: str) -> tuple[PodSetPath, ...]:
    """The replica types of a kind of Kubeflow, in the order in which Kueue lists them."""
    return tuple(
        PodSetPath(kind, f"spec.{field}.{kind}.template", (Count(f"spec.{field}.{kind}.replicas"),)) for kind in types
    )


KINDS: Mapping[GroupKind, tuple[PodSetPath, ...]] = {
    BATCH_JOB: (
        PodSetPath("main", "spec.template", (Count("spec.parallelism", "spec.completions"),), "", COMPLETION_INDEX),
    ),
    GroupKind("jobset.x-k8s.io", "JobSet"): (
        PodSetPath(
            "name",
            "template.spec.template",
            (Count("replicas"), Count("template.spec.parallelism", "template.spec.completions")),
            "spec.replicatedJobs",
            COMPLETION_INDEX,
        ),
    ),
    GroupKind("kubeflow.org", "PyTorchJob"): _replicas("pytorchReplicaSpecs", "Master", "Worker"),
    GroupKind("kubeflow.org", "TFJob"): _replicas("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    GroupKind("kubeflow.org", "XGBoostJob"): _replicas("xgbReplicaSpecs", "Master", "Worker"),
    GroupKind("kubeflow.org", "PaddleJob"): _replicas("paddleReplicaSpecs", "Master", "Worker"),
    GroupKind("kubeflow.org", "JAXJob"): _replicas("jaxReplicaSpecs", "Worker"),
    GroupKind("kubeflow.org", "MPIJob"): _replicas("mpiReplicaSpecs", "Launcher", "Worker"),
    GroupKind("ray.io", "RayCluster"): (
        PodSetPath("head", "spec.headGroupSpec.template"),
        PodSetPath("groupName", "template", (Count("replicas"), Count("numOfHosts")), "spec.workerGroupSpecs"),
    ),
}
