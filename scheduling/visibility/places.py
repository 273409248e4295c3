"""The quota of a workload by pod set, and its places in topologies with readable names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduling.objects.workload import PodSet, PodSetAdmission, Workload
from scheduling.topology.assignment import HOSTNAME
from scheduling.topology.domains import TopologyTree, domain_name
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.workload_places import request_of


class PodsInDomain(NamedTuple):
    """A domain with pods. `values`: its path. `name`: a readable name, without ancestors if it is unique."""

    name: str
    values: tuple[str, ...]
    pods: int


@dataclass(frozen=True, slots=True)
class PodSetPlaces:
    """The places of a pod set.

    levels: all levels of the Topology, coarsest first.
    level: the requested level, or the level of slices if it has slices.
    domains: the domains of `level`.
    lowest: the domains of the lowest level.
    """

    levels: tuple[str, ...]
    level: str
    domains: tuple[PodsInDomain, ...]
    lowest: tuple[PodsInDomain, ...]


def places_by_pod_set(workload: Workload, fleet: Fleet | None) -> dict[str, PodSetPlaces]:
    """The places of its admission, by pod set. Places in flavors without a topology are left out."""
    found = {}
    for entry in workload.assignments if fleet is not None else ():
        pod_set, tree = workload.pod_set(entry.name), _tree(entry, fleet)
        if entry.topology is not None and pod_set is not None and tree is not None:
            found[entry.name] = _places(entry, pod_set, tree)
    return found


def _tree(entry: PodSetAdmission, fleet: Fleet | None) -> TopologyTree | None:
    flavors = fleet.flavors if fleet is not None else {}
    return next((flavors[name].tree for name in sorted(set(entry.flavors.values())) if name in flavors), None)


def _places(entry: PodSetAdmission, pod_set: PodSet, tree: TopologyTree) -> PodSetPlaces:
    request, levels = request_of(pod_set), tree.levels
    asked = request.layers[0].topology if request.layers else request.level(levels)
    level = asked if asked in levels else levels[-1]
    assignment = read_topology_assignment(entry.topology or {})
    paths = tree.paths(assignment.domains)
    lowest = [(paths.get(values, values), pods) for values, pods in assignment.domains]
    above: Counter[tuple[str, ...]] = Counter()
    for values, pods in lowest:
        above[values[: levels.index(level) + 1] if len(values) == len(levels) else values] += pods
    return PodSetPlaces(levels, level, _named(tree, [*above.items()]), _named(tree, lowest))


def _named(tree: TopologyTree, domains: Sequence[tuple[tuple[str, ...], int]]) -> tuple[PodsInDomain, ...]:
    levels = {len(values) - 1 for values, _ in domains}
    alike = {level: Counter(each.values[-1] for each in tree.at_level(level)) for level in levels}
    return tuple(PodsInDomain(_name(tree, values, alike[len(values) - 1]), values, pods) for values, pods in domains)


def _name(tree: TopologyTree, values: tuple[str, ...], alike: Counter[str]) -> str:
    """The name of the domain. For a host that no longer exists, the ancestors are not known.

    alike: the number of domains of its level with each last value.
    """
    if tree.by_host and len(values) == 1 < len(tree.levels) and values[0] not in alike:
        return domain_name((HOSTNAME,), values)
    return domain_name(tree.levels, values, whole=alike[values[-1]] > 1)


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
    requested = workload.sizes
    return tuple(
        AdmittedPodSet(
            entry.name,
            requested.get(entry.name, 0) if entry.count is None else entry.count,
            requested.get(entry.name, 0),
            entry.flavors,
            entry.usage,
            places.get(entry.name),
        )
        for entry in workload.assignments
    )
