"""Manifests of what YuniKorn decides about."""

from __future__ import annotations

import textwrap
from typing import Any

Manifest = dict[str, Any]
PREFIX = "yunikorn.apache.org/"


def queues_yaml(queues: str, rules: str = "[{name: tag, value: namespace, create: true}]") -> Manifest:
    """`queues` is the YAML of root's queues."""
    inner = "\n" + textwrap.indent(textwrap.dedent(queues).strip("\n"), "    ") if queues else " []"
    text = (
        f"partitions:\n- name: default\n  placementrules: {rules}\n"
        f'  queues:\n  - name: root\n    submitacl: "*"\n    queues:{inner}\n'
    )
    meta = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"queues.yaml": text}}


def namespace(name: str, **annotations: str) -> Manifest:
    """Annotations without their prefix, `_` for `.`."""
    notes = {PREFIX + key.replace("_", "."): value for key, value in annotations.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": notes}}


def pod(name: str, app: str, cpu: str = "1", space: str = "dev", node: str = "", **annotations: str) -> Manifest:
    notes = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    labels = {PREFIX + "app-id": app}
    spec: Manifest = {
        "schedulerName": "yunikorn",
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
    }
    if node:
        spec["nodeName"] = node
    meta = {"name": name, "namespace": space, "labels": labels, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def node(name: str = "n1", cpu: str = "8") -> Manifest:
    status = {"allocatable": {"cpu": cpu, "memory": "64Gi", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
