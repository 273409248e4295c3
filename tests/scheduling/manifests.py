"""Manifests of Workloads in few words, for tests."""

from __future__ import annotations

from typing import Any

from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload
from tests import builders
from tests.builders import container

CREATED = "2025-01-01T00:00:00Z"


def pod_set(name: str = "main", count: int = 1, spec: dict[str, Any] | None = None, **requests: str) -> dict[str, Any]:
    return {"name": name, "count": count, "template": {"spec": {"containers": [container(**requests)], **(spec or {})}}}


def manifest(
    *pod_sets: dict[str, Any], status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **meta: Any
) -> dict[str, Any]:
    """A Workload `w` in the queue `q`."""
    whole = {"queueName": "q", "podSets": list(pod_sets) or [pod_set(cpu="1")], **(spec or {})}
    named = {"name": "w", "namespace": "ns", "creationTimestamp": CREATED, **meta}
    return builders.kueue("Workload", spec=whole, status=status or {}, **named)


def condition(kind: str, status: str = "True", reason: str = "", since: str = CREATED) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": since}


def workload(*pod_sets: dict[str, Any], **parts: Any) -> Workload:
    return read_workload(manifest(*pod_sets, **parts))
