"""Finds new places for the pods of a workload whose nodes failed. Its other pods keep their places.

Kueue only replaces one node at a time; to replace several is specific to Quotree
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
    """Find new places for the pods on this host. The other pod sets keep theirs.

    Members of a group are placed one by one, flavor by flavor in the order of their names. Each placement counts the
    new places before it.

    pods: the pod sets with their current assignments.
    """
    places, affected = _split(pods, [host])
    present = {entry.name: entry.assignment for entry in affected}
    movable = not question.workload.of_one_pod
    used = _NewUsage()
    asked = pods_by_flavor(fleet, question, affected, places)
    for name, member in ((name, member) for name, members in asked for member in members):
        assignment, flavor = present[member.name], fleet.flavors[name]
        assert assignment is not None
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
    """Find new places for all pods on these hosts, outside of all of them. The other pods keep theirs.

    It works as `find_replacement`, but members of a group stay together if they require a level. A single Pod without a
    job cannot be recreated elsewhere, and keeps its place.
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
    """The new usage of pod sets of the workload. Flavors whose nodes may be the same share it."""

    def __init__(self) -> None:
        self._of_hosts: _Used = {}
        self._by_flavor: dict[str, _Used] = {}

    def of(self, name: str, flavor: FlavorTopology) -> _Used:
        return self._of_hosts if flavor.gates.overlapping else self._by_flavor.setdefault(name, {})


def _split(pods: Sequence[FlavoredPods], hosts: Sequence[str]) -> tuple[WorkloadPlaces, list[FlavoredPods]]:
    """The places of the pod sets without pods on these hosts, and the other pod sets."""
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
    """The other members of the group to which these pod sets belong."""
    name, own = group[0].request.group, {member.name for member in group}
    others = (each for each in question.workload.pod_sets if each.name not in own)
    return [each.name for each in others if name and request_of(each).group == name]
