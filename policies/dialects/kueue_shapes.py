"""The kinds of jobs that nobody has to describe: batch Job, and those of JobSet, Kubeflow and Ray.

Source: Kueue v0.19, pkg/controller/jobs; JobSet v1alpha2, training-operator v1, mpi-operator v2beta1, KubeRay v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.job_shape import (
    Active,
    Count,
    JobShape,
    PodSetPath,
    Ready,
    Reclaimable,
    Sign,
    Switch,
    at,
)
from policies.dialects.reading import Manifest, listing, mapping
from policies.model.objects import GroupKind

HEAD = "head"
"""The pod set of a Ray cluster's head, in lower case."""
RAY_CLUSTERS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": (),
    "RayJob": ("rayClusterSpec",),
    "RayService": ("rayClusterConfig",),
}
"""Where each kind of ray.io has the cluster, below its spec."""
_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
_ROLES = ("Launcher", "Chief", "Master", "PS", "Worker", "Evaluator")
"""Of the jobs of Kubeflow, in the order of Kueue's pod sets."""

_BATCH = JobShape(
    kind=GroupKind("batch", "Job"),
    version="v1",
    plural="jobs",
    pod_sets=(
        PodSetPath(
            "main",
            "spec.template",
            (Count("spec.parallelism", at_most="spec.completions"),),
            index_label=_COMPLETION_INDEX,
        ),
    ),
    suspend=Switch("spec.suspend"),
    succeeded=Sign(("Complete",)),
    failed=Sign(("Failed",)),
    ready=Ready(counts=("status.ready", "status.succeeded")),
    active=Active(("status.active",), resumed="Suspended"),
    managed_by="spec.managedBy",
    elastic=True,
)

_JOB_SET = JobShape(
    kind=GroupKind("jobset.x-k8s.io", "JobSet"),
    version="v1alpha2",
    plural="jobsets",
    pod_sets=(
        PodSetPath(
            "name",
            "template.spec.template",
            (Count("replicas"), Count("template.spec.parallelism", at_most="template.spec.completions")),
            entries="spec.replicatedJobs",
            index_label=_COMPLETION_INDEX,
        ),
    ),
    suspend=Switch("spec.suspend"),
    succeeded=Sign(("Completed",)),
    failed=Sign(("Failed",)),
    ready=Ready(
        counts=("status.replicatedJobsStatus.*.ready", "status.replicatedJobsStatus.*.succeeded"),
        of=("spec.replicatedJobs.*.replicas",),
    ),
    active=Active(("status.replicatedJobsStatus.*.active",), resumed="Suspended"),
    reclaimable=Reclaimable("status.replicatedJobsStatus", "name", "succeeded"),
    managed_by="spec.managedBy",
)


def _of_kubeflow(kind: str, replicas: str, version: str = "v1", prebuilt: bool = True) -> JobShape:
    """Roles in a mapping, and a run policy."""
    return JobShape(
        kind=GroupKind("kubeflow.org", kind),
        version=version,
        plural=f"{kind.lower()}s",
        pod_sets=(PodSetPath("", "template", (Count("replicas"),), entries=f"spec.{replicas}", order=_ROLES),),
        suspend=Switch("spec.runPolicy.suspend"),
        succeeded=Sign(("Succeeded",)),
        failed=Sign(("Failed",)),
        ready=Ready(Sign(("Running",))),
        active=Active(("status.replicaStatuses.*.active",), resumed="Suspended"),
        priority_class="spec.runPolicy.schedulingPolicy.priorityClass",
        managed_by="spec.runPolicy.managedBy",
        prebuilt=prebuilt,
    )


def _submitter(job: Manifest) -> Mapping[str, Any]:
    """The pod that KubeRay makes to submit a RayJob where the job describes none: in the image of the head."""
    containers = listing(at(job, "spec.rayClusterSpec.headGroupSpec.template.spec.containers"))
    image = mapping(next(iter(containers), None)).get("image")
    resources = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "ray-job-submitter", **({"image": image} if image else {}), "resources": resources}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _of_ray(kind: str, **more: Any) -> JobShape:
    where = ".".join(("spec", *RAY_CLUSTERS[kind]))
    workers = PodSetPath(
        "groupName", "template", (Count("replicas"), Count("numOfHosts")), entries=f"{where}.workerGroupSpecs"
    )
    submitters = PodSetPath(
        "submitter",
        "spec.submitterPodTemplate",
        when={"spec.submissionMode": ("K8sJobMode",)},
        otherwise=_submitter,
    )
    own = (submitters,) if kind == "RayJob" else ()
    return JobShape(
        kind=GroupKind("ray.io", kind),
        version="v1",
        plural=f"{kind.lower()}s",
        pod_sets=(PodSetPath(HEAD, f"{where}.headGroupSpec.template"), workers, *own),
        managed_by="spec.managedBy",
        elastic=True,
        **more,
    )


_DEPLOYED = "status.jobDeploymentStatus"
_ENDED = ("Complete", "Failed")
_RAY = (
    _of_ray(
        "RayJob",
        suspend=Switch("spec.suspend"),
        succeeded=Sign(fields={_DEPLOYED: _ENDED, "status.jobStatus": ("SUCCEEDED",)}, message="status.message"),
        failed=Sign(fields={_DEPLOYED: _ENDED}, message="status.message"),
        ready=Ready(Sign(fields={"status.rayClusterStatus.state": ("ready",)})),
        active=Active(idle={_DEPLOYED: ("", "New", "Suspended")}),
        unless="spec.clusterSelector",
    ),
    _of_ray(
        "RayCluster",
        suspend=Switch("spec.suspend"),
        ready=Ready(Sign(fields={"status.state": ("ready",)})),
        active=Active(("status.availableWorkerReplicas",), sign=Sign(fields={"status.state": ("ready",)})),
    ),
    _of_ray(
        "RayService",
        suspend=Switch("spec.rayClusterConfig.suspend"),
        ready=Ready(Sign(("Ready",))),
        active=Active(sign=Sign(("Ready",))),
    ),
)

SHAPES: Mapping[GroupKind, JobShape] = {
    shape.kind: shape
    for shape in (
        _BATCH,
        _JOB_SET,
        _of_kubeflow("TFJob", "tfReplicaSpecs"),
        _of_kubeflow("PaddleJob", "paddleReplicaSpecs"),
        _of_kubeflow("PyTorchJob", "pytorchReplicaSpecs"),
        _of_kubeflow("XGBoostJob", "xgbReplicaSpecs"),
        _of_kubeflow("MPIJob", "mpiReplicaSpecs", version="v2beta1"),
        _of_kubeflow("JAXJob", "jaxReplicaSpecs", prebuilt=False),
        *_RAY,
    )
}
"""Each by its kind; there is no other place where these facts are told."""
