"""The quota of a workload by pod set, for displays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.objects.workload import Workload
from scheduling.topology.fleet import Fleet
from scheduling.visibility.places import PodSetPlaces, places_by_pod_set


@dataclass(frozen=True, slots=True)
class AdmittedPodSet:
    """An admitted pod set.

    count, requested: the admitted and the requested number of pods.
    flavors: by resource.
    usage: of all admitted pods, by resource.
    places: its places in a topology; None if it has none.
    """

    name: str
    count: int
    requested: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    places: PodSetPlaces | None = None


def admitted_pod_sets(workload: Workload, fleet: Fleet | None) -> tuple[AdmittedPodSet, ...]:
    """The pod sets of a workload's admission; empty without an admission. `fleet`: has the domains of its places."""
    places = places_by_pod_set(workload, fleet)
    requested = {pod_set.name: pod_set.count for pod_set in workload.pod_sets}
    entries = workload.admission.assignments if workload.admission else ()
    return tuple(
        AdmittedPodSet(
            entry.name,
            requested.get(entry.name, 0) if entry.count is None else entry.count,
            requested.get(entry.name, 0),
            entry.flavors,
            entry.usage,
            places.get(entry.name),
        )
        for entry in entries
    )
