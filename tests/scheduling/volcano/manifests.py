"""Manifests of what Volcano decides about."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
QUEUES = "scheduling.volcano.sh/v1beta1"


def queue(name: str, parent: str = "", **spec: Any) -> Manifest:
    """`capability`, `deserved` and `guarantee` are amounts by resource."""
    if "guarantee" in spec:
        spec["guarantee"] = {"resource": spec["guarantee"]}
    above = {"parent": parent} if parent else {}
    return {"apiVersion": QUEUES, "kind": "Queue", "metadata": {"name": name}, "spec": {**above, **spec}}


def template(cpu: str, **spec: Any) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def task(name: str, replicas: int, cpu: str = "1", priority_class: str = "", **fields: Any) -> Manifest:
    more = {"priorityClassName": priority_class} if priority_class else {}
    return {"name": name, "replicas": replicas, "template": template(cpu, **more), **fields}


def job(name: str, queue: str, *tasks: Manifest, space: str = "ml", **spec: Any) -> Manifest:
    meta = {"name": name, "namespace": space}
    body = {"queue": queue, "tasks": [*tasks], **spec}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta, "spec": body}


def pod_group(name: str, queue: str, members: int = 1, space: str = "ml", **spec: Any) -> Manifest:
    meta = {"name": name, "namespace": space}
    body = {"queue": queue, "minMember": members, **spec}
    return {"apiVersion": QUEUES, "kind": "PodGroup", "metadata": meta, "spec": body}


def pod(name: str, group: str = "", cpu: str = "1", space: str = "ml", **annotations: str) -> Manifest:
    notes = {"scheduling.volcano.sh/" + key.replace("_", "-"): value for key, value in annotations.items()}
    if group:
        notes["scheduling.k8s.io/group-name"] = group
    meta = {"name": name, "namespace": space, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, **template(cpu, schedulerName="volcano")}


def node(name: str = "n1", cpu: str = "8") -> Manifest:
    allocatable = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def priority_class(name: str, value: int) -> Manifest:
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def namespace(name: str, labels: dict[str, str]) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
