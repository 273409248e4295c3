"""The quota of a workload by pod set, for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.objects.workload import Workload


@dataclass(frozen=True, slots=True)
class AdmittedPodSet:
    """One pod set with its flavors by resource and the usage of its `count` pods; it requested `requested` pods."""

    name: str
    count: int
    requested: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]


def admitted_pod_sets(workload: Workload) -> tuple[AdmittedPodSet, ...]:
    """The pod sets of a workload's admission; empty without one."""
    requested = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    entries = workload.admission.assignments if workload.admission else ()
    return tuple(
        AdmittedPodSet(
            entry.name,
            requested.get(entry.name, 0) if entry.count is None else entry.count,
            requested.get(entry.name, 0),
            entry.flavors,
            entry.usage,
        )
        for entry in entries
    )
