"""Pod sets of workloads that ask for a topology, and their places as text."""

from __future__ import annotations

from typing import Any

from scheduling.objects.reading import read_workload
from scheduling.objects.workload import Workload
from scheduling.topology.workload_places import WorkloadPlaces
from tests.scheduling.topology.drawn import drawn

ONE = {"cpu": 1000}


def pod_set(name: str = "main", count: int = 2, cpu: str = "1", **request: Any) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    made = {"name": name, "count": count, "template": {"spec": {"containers": [container]}}}
    return {**made, "topologyRequest": request} if request else made


def workload(*pod_sets: dict[str, Any], status: dict[str, Any] | None = None, **metadata: Any) -> Workload:
    return read_workload(
        {
            "metadata": {"name": "w", "namespace": "ns", **metadata},
            "spec": {"podSets": list(pod_sets)},
            "status": status or {},
        }
    )


def shown(found: WorkloadPlaces) -> dict[str, str]:
    return {name: drawn(assignment) for name, assignment in found.assigned.items()}
