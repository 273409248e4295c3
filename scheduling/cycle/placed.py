"""What the pod sets of a workload hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.objects.workload import Workload


@dataclass(frozen=True, slots=True)
class Placed:
    """One pod set with its flavors by resource, and what `count` pods of it use; `asked` is how many it wanted."""

    name: str
    count: int
    asked: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]


def placed(workload: Workload) -> tuple[Placed, ...]:
    """What the pod sets of a workload hold."""
    asked = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    entries = workload.admission.assignments if workload.admission else ()
    return tuple(
        Placed(
            entry.name,
            asked.get(entry.name, 0) if entry.count is None else entry.count,
            asked.get(entry.name, 0),
            entry.flavors,
            entry.usage,
        )
        for entry in entries
    )
