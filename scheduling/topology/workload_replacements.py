"""Finds new places for the pods of a workload whose nodes failed. Its other pods keep their places.

Kueue replaces one node at a time. Only Quotree can replace several together
(docs/adr/2026-11-27-failed-nodes-are-replaced-together.md). Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from scheduling.topology.assignment import DomainId, TopologyAssignment
from scheduling.topology.fleet import Fleet
from scheduling.topology.placing import FlavorTopology, PlacedPods, groups
from scheduling.topology.replacing import no_replacement, replaced
from scheduling.topology.replacing_together import LostPods, UncertainPlaces, replaced_together
from scheduling.topology.workload_places import (
    FlavoredPods,
    TopologyQuestion,
    WorkloadPlaces,
    pods_by_flavor,
    request_of,
)

_Used: TypeAlias = dict[DomainId, dict[str, int]]


def find_replacement(
    fleet: Fleet, question: TopologyQuestion, pods: Sequence[FlavoredPods], host: str
) -> WorkloadPlaces:
    """Find new places for the pods on this host. All other pods keep theirs.

    Pod sets are placed one by one, also in a group. The flavors come in the order of their names. Each placement counts
    the new places before it.

    pods: the pod sets with their current assignments.
    """
    places, affected = _split(pods, [host])
    present = {entry.name: entry.assignment for entry in affected if entry.assignment is not None}
    movable = not question.workload.of_one_pod
    used = _NewUsage()
    for name, members in pods_by_flavor(fleet, question, affected, places):
        flavor = fleet.flavors[name]
        for member in members:
            assignment = present[member.name]
            found = replaced(flavor, member, assignment, host, used.of(name, flavor), movable=movable)
            if isinstance(found, str):
                places.refused[member.name] = found
            elif question.all_pods and found.pods < assignment.pods:
                places.refused[member.name] = no_replacement(host)
            else:
                places.assigned[member.name] = found
    return places


def find_replacements(
    fleet: Fleet, question: TopologyQuestion, pods: Sequence[FlavoredPods], hosts: Sequence[str]
) -> WorkloadPlaces:
    """Find new places for all pods on these hosts. None of these hosts gets a pod. All other pods keep their places.

    This works like `find_replacement`, but members of a group that requires a level stay in one domain of that level.
    Nothing would create a single Pod again on another node, so it keeps its place.
    """
    places, affected = _split(pods, hosts)
    present = {entry.name: entry.assignment for entry in pods if entry.assignment is not None}
    if question.workload.of_one_pod:
        places.assigned.update(present)
        return places
    used = _NewUsage()
    for name, members in pods_by_flavor(fleet, question, affected, places):
        flavor = fleet.flavors[name]
        for group in groups(members):
            lost = [_lost(member, present[member.name], hosts) for member in group]
            beside = [present[each] for each in _beside(question, group) if each in present]
            try:
                found = replaced_together(flavor, lost, beside, hosts, used.of(name, flavor))
            except UncertainPlaces as error:
                found, places.waits = str(error), True
            if isinstance(found, str):
                places.refused.update((member.name, found) for member in group)
                return places
            places.assigned.update((member.name, each) for member, each in zip(group, found, strict=True))
    return places


class _NewUsage:
    """The usage of the new places. Flavors that may have the same nodes share it."""

    def __init__(self) -> None:
        self._of_hosts: _Used = {}
        self._by_flavor: dict[str, _Used] = {}

    def of(self, name: str, flavor: FlavorTopology) -> _Used:
        return self._of_hosts if flavor.gates.overlapping else self._by_flavor.setdefault(name, {})


def _split(pods: Sequence[FlavoredPods], hosts: Sequence[str]) -> tuple[WorkloadPlaces, list[FlavoredPods]]:
    """The places of the pod sets that have no pods on these hosts, and the pod sets that have some."""
    places, affected = WorkloadPlaces(), []
    for entry in pods:
        if entry.assignment is None:
            continue
        if any(domain.values[-1] in hosts for domain in entry.assignment.domains):
            affected.append(entry)
        else:
            places.assigned[entry.name] = entry.assignment
    return places, affected


def _lost(member: PlacedPods, present: TopologyAssignment, hosts: Sequence[str]) -> LostPods:
    rest = present.without(*hosts)
    return LostPods(member, rest, present.pods - rest.pods)


def _beside(question: TopologyQuestion, group: Sequence[PlacedPods]) -> list[str]:
    """The names of the other members of the group to which these pod sets belong."""
    name, own = group[0].request.group, {member.name for member in group}
    others = (each for each in question.workload.pod_sets if each.name not in own)
    return [each.name for each in others if name and request_of(each).group == name]
