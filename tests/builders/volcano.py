"""Objects of Volcano."""

from __future__ import annotations

from typing import Any

from policies.dialects.core import VOLCANO_QUEUE
from tests.builders.core import container, pod
from tests.builders.manifests import Manifest, manifest

SCHEDULING, BATCH = "scheduling.volcano.sh/v1beta1", "batch.volcano.sh/v1alpha1"


def amounts(text: str) -> dict[str, str]:
    """`cpu:4,memory:1Gi` as a mapping."""
    return dict(pair.split(":", 1) for pair in text.split(",")) if text else {}


def queue(name: str, parent: str | None = "root", /, **fields: str) -> Manifest:
    """A Volcano Queue: `guarantee`, `deserved`, `capability` as for `amounts`; `state` and `pods` go to status."""
    spec: dict[str, Any] = {} if parent is None else {"parent": parent}
    for field in ("deserved", "capability"):
        if field in fields:
            spec[field] = amounts(fields[field])
    if "guarantee" in fields:
        spec["guarantee"] = {"resource": amounts(fields["guarantee"])}
    status: dict[str, Any] = {"state": fields.get("state", "Open")}
    if "pods" in fields:
        status["allocated"] = {"pods": fields["pods"]}
    return manifest(SCHEDULING, "Queue", name, spec, status=status)


def pod_group(name: str, queue: str | None, namespace: str = "ns", phase: str = "Pending") -> Manifest:
    spec = {} if queue is None else {"queue": queue}
    return manifest(SCHEDULING, "PodGroup", name, spec, status={"phase": phase}, namespace=namespace)


def job(name: str, queue: str | None, namespace: str = "ns", phase: str = "") -> Manifest:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    spec: dict[str, Any] = {"minAvailable": 1, "tasks": [{"name": "task", "replicas": 1, "template": template}]}
    spec |= {} if queue is None else {"queue": queue}
    return manifest(BATCH, "Job", name, spec, status={"state": {"phase": phase} if phase else {}}, namespace=namespace)


def volcano_pod(name: str, queue: str, namespace: str = "ns", scheduler: str = "volcano") -> Manifest:
    spec = {"schedulerName": scheduler, "containers": [container()]}
    return pod(name, namespace, spec, annotations={VOLCANO_QUEUE: queue})
