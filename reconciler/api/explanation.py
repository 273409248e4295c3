"""Why a workload waits, or what quota it has, as JSON with the fields of `quotree why -o json`."""

from __future__ import annotations

from typing import Any

from policies.model.objects import parted
from reconciler.objects.following import workload_trace
from scheduling.objects.times import rfc3339
from scheduling.visibility.as_json import AccessScope, job_of
from scheduling.visibility.explained import explained
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"


def explanation_json(world: World, key: str, now: int, sight: AccessScope | None = None) -> dict[str, Any]:
    """Explain the workload `namespace/name`. `now` is in nanoseconds. Raises KeyError if it does not exist."""
    trace = workload_trace(world.workloads[key])

    def named(name: str) -> dict[str, str]:
        known = world.workloads.get(name)
        return job_of(known) if known is not None else _unknown(name)

    head = {"apiVersion": API_VERSION, "kind": "Explanation", **({"trace": trace} if trace else {})}
    return {**head, **explained(world, key, now, named, rfc3339, sight)}


def _unknown(key: str) -> dict[str, str]:
    namespace, name = parted(key)
    return {"kind": "Workload", "namespace": namespace, "name": name, "workload": name}
