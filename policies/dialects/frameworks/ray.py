"""The kinds of KubeRay. Source: Kueue v0.19, pkg/controller/jobs/{raycluster,rayjob,rayservice}; KubeRay v1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from policies.dialects.core import POD
from policies.dialects.frameworks.batch import JOB
from policies.dialects.job_shape import Active, Count, JobShape, PodSetPath, ReadyPods, Sign, SuspendField, at
from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from policies.model.objects import GroupKind
from policies.model.quantity import Quantity

GROUP = "ray.io"
HEAD = "head"
"""The pod set of a Ray cluster's head, in lower case."""
SUBMITTER = "submitter"
"""The pod set of the pod that submits a RayJob."""
CLUSTERS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""The path of the cluster in each kind."""
_CLUSTER = GroupKind(GROUP, "RayCluster")
_SUBMITTER = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
_AUTOSCALER = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}}
_REDIS_CLEANUP = {"cpu": "200m", "memory": "256Mi"}
_MAKES = {"RayCluster": (POD,), "RayJob": (_CLUSTER, JOB.kind), "RayService": (_CLUSTER,)}


def _submitter(job: Manifest) -> Mapping[str, Any]:
    """The template of the pod that submits a RayJob without a template for it. KubeRay uses the image of the head."""
    containers = listing(at(job, "spec.rayClusterSpec.headGroupSpec.template.spec.containers"))
    image = mapping(next(iter(containers), None)).get("image")
    container = {"name": "ray-job-submitter", **({"image": image} if image else {}), "resources": _SUBMITTER}
    return {"spec": {"containers": [container], "restartPolicy": "Never"}}


def _head_of(where: str, job: Manifest, template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The head with the containers that KubeRay adds: the autoscaler, and in SidecarMode the submitter of a RayJob.

    With fault tolerance, its requests also cover the Pod that cleans up Redis afterwards.
    """
    added = []
    if at(job, f"{where}.enableInTreeAutoscaling") is True:
        own = at(job, f"{where}.autoscalerOptions.resources")
        added.append({"name": "autoscaler", "resources": own if isinstance(own, Mapping) else _AUTOSCALER})
    if at(job, "spec.submissionMode") == "SidecarMode":
        added.append({"name": "ray-job-submitter", "resources": _SUBMITTER})
    spec = mapping(template.get("spec"))
    own = listing(spec.get("containers"))
    tolerant = isinstance(at(job, f"{where}.gcsFaultToleranceOptions"), Mapping)
    noted = text(mapping(metadata(job).get("annotations")).get("ray.io/ft-enabled")) or ""
    if own and (tolerant or noted.lower() == "true"):
        own = [_with_room(mapping(own[0])), *own[1:]]
    elif not added:
        return template
    return {**template, "spec": {**spec, "containers": [*own, *added]}}


def _with_room(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """The container with requests that are at least those of the Pod that cleans up Redis.

    If it has only a limit, the limit is compared, since it is what the container then requests.
    """
    resources = mapping(container.get("resources"))
    requests, limits = mapping(resources.get("requests")), mapping(resources.get("limits"))
    short = {
        name: least for name, least in _REDIS_CLEANUP.items() if _less(requests.get(name, limits.get(name)), least)
    }
    return {**container, "resources": {**resources, "requests": {**requests, **short}}} if short else container


def _less(amount: object, least: str) -> bool:
    quantity = Quantity.read(amount)  # the reader of the amount reports one that is not a quantity
    return amount is None or (quantity is not None and quantity < Quantity.parse(least))


def _of(kind: str, **more: Any) -> JobShape:
    where = ".".join(CLUSTERS[kind])
    head = PodSetPath(HEAD, f"{where}.headGroupSpec.template", counted=partial(_head_of, where))
    workers = PodSetPath(
        "groupName",
        "template",
        # KubeRay creates the minimum in any case, and reads a numOfHosts below 1 as 1.
        (Count("replicas", at_least="minReplicas"), Count("numOfHosts", least=1)),
        entries=f"{where}.workerGroupSpecs",
    )
    submitters = PodSetPath(
        SUBMITTER,
        "spec.submitterPodTemplate",
        when={"spec.submissionMode": ("K8sJobMode",)},
        otherwise=_submitter,
    )
    own = (submitters,) if kind == "RayJob" else ()
    return JobShape(
        kind=GroupKind(GROUP, kind),
        version="v1",
        plural=f"{kind.lower()}s",
        pod_sets=(head, workers, *own),
        managed_by="spec.managedBy",
        controller="ray.io/kuberay-operator",
        makes=_MAKES[kind],
        elastic=True,
        **more,
    )


_DEPLOYED = "status.jobDeploymentStatus"
_ENDED = ("Complete", "Failed")
FRAMEWORKS = (
    _of(
        "RayJob",
        suspend=SuspendField("spec.suspend"),
        succeeded=Sign(fields={_DEPLOYED: _ENDED, "status.jobStatus": ("SUCCEEDED",)}, message="status.message"),
        failed=Sign(fields={_DEPLOYED: _ENDED}, message="status.message"),
        ready=ReadyPods(Sign(fields={"status.rayClusterStatus.state": ("ready",)})),
        active=Active(idle={_DEPLOYED: ("", "New", "Suspended")}),
        unless="spec.clusterSelector",
        on_hold=Sign(fields={_DEPLOYED: ("ValidationFailed",)}),
    ),
    _of(
        "RayCluster",
        suspend=SuspendField("spec.suspend"),
        ready=ReadyPods(Sign(fields={"status.state": ("ready",)})),
        active=Active(("status.availableWorkerReplicas",), sign=Sign(fields={"status.state": ("ready",)})),
    ),
    _of(
        "RayService",
        suspend=SuspendField("spec.rayClusterConfig.suspend"),
        generations=2,  # an upgrade starts the next cluster before it deletes the last one
        ready=ReadyPods(Sign(("Ready",))),
        active=Active(sign=Sign(("Ready",))),
    ),
)
