"""Manifests of Workloads in few words, for tests."""

from __future__ import annotations

from typing import Any

from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload

CREATED = "2025-01-01T00:00:00Z"


def container(*, limits: dict[str, str] | None = None, **requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests, "limits": limits or {}}}


def pod_set(name: str = "main", count: int = 1, spec: dict[str, Any] | None = None, **requests: str) -> dict[str, Any]:
    return {"name": name, "count": count, "template": {"spec": {"containers": [container(**requests)], **(spec or {})}}}


def manifest(
    *pod_sets: dict[str, Any], status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **meta: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "ns", "creationTimestamp": CREATED, **meta},
        "spec": {"queueName": "q", "podSets": list(pod_sets) or [pod_set(cpu="1")], **(spec or {})},
        "status": status or {},
    }


def condition(kind: str, status: str = "True", reason: str = "", since: str = CREATED) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": since}


def workload(*pod_sets: dict[str, Any], **parts: Any) -> Workload:
    return read_workload(manifest(*pod_sets, **parts))
