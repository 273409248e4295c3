"""Finds places for the pods of a workload, and checks whether they still fit.

The flavors are chosen by quota before. This module does not look at quota.
Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from policies.dialects.reading import listing, mapping, texts
from scheduling.objects.requests import DEFAULT, Counting, counts_after_reclaim, per_pod
from scheduling.objects.workload import PodSet, Workload
from scheduling.topology.assignment import DomainId, TopologyAssignment, net_counts
from scheduling.topology.counting import UNBOUNDED
from scheduling.topology.domains import LowestDomain, TopologyTree
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.fleet import Fleet, HeldPlaces
from scheduling.topology.node_filter import node_filter
from scheduling.topology.placing import FlavorTopology, PlacedPods, groups, use
from scheduling.topology.refusals import update_conflict
from scheduling.topology.request import TopologyRequest, read_topology_request
from scheduling.topology.shortage import ShortDomain

_NO_TOPOLOGY = "workload requires Topology, but there is no TAS cache information"


class UnplaceablePods(ValueError):
    """The pod set cannot have a place, even in empty domains. The message is Kueue's."""


@dataclass(frozen=True, slots=True)
class FlavoredPods:
    """A pod set with the flavors that quota gives it. `count`: its pods. `assignment`: its current places, if any."""

    name: str
    count: int
    flavors: Mapping[str, str]
    assignment: TopologyAssignment | None = None


class TopologyUsage(NamedTuple):
    """The usage of `pods` pods in a domain of a flavor. `requests`: of each, in base units, without the pod itself."""

    flavor: str
    domain: DomainId
    requests: Mapping[str, int]
    pods: int


@dataclass(slots=True)
class WorkloadPlaces:
    """The result by pod set.

    assigned: the places.
    refused: why there is no room, in Kueue's words.
    faults: why it can have no place even with other nodes, because of its flavors or its requests.
    waits: a refusal may end when other nodes of the workload become usable again, or are reported as unhealthy.
    """

    assigned: dict[str, TopologyAssignment] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    waits: bool = False

    @property
    def complete(self) -> bool:
        """Whether all pod sets that need a place have one."""
        return not self.refused and not self.faults


class TopologyQuestion(NamedTuple):
    """A workload to place.

    with_topology: the flavors of its ClusterQueue that have a topology.
    only: whether all flavors of its ClusterQueue have one, so that every pod set gets a place.
    all_pods: refuse places that do not suffice for all pods. Kueue leaves out the pods beyond whole slices, and they
        wait at their gate indefinitely.
    previous: by pod set, the places of the slice from which a slice of an elastic job takes over.
    """

    workload: Workload
    with_topology: Collection[str]
    only: bool = False
    all_pods: bool = False
    previous: Mapping[str, TopologyAssignment] = MappingProxyType({})

    def needs_places(self, pods: FlavoredPods) -> bool:
        """A pod set that has places needs some, even if its ClusterQueue now has a flavor without a topology, too."""
        pod_set = self.workload.pod_set(pods.name)
        asks = pod_set is not None and pod_set.asks_for_topology
        return pods.count > 0 and (asks or self.only or pods.assignment is not None)


def find_places(
    fleet: Fleet, question: TopologyQuestion, pods: Iterable[FlavoredPods], *, empty: bool = False
) -> WorkloadPlaces:
    """Find places for all pod sets that need one, flavor by flavor in the order of their names.

    After a pod set without room, the rest of its flavor is not tried, but other flavors are. empty: place as if no
    workload had places.
    """
    places, of_hosts = WorkloadPlaces(), dict[DomainId, dict[str, int]]()
    for name, members in pods_by_flavor(fleet, question, pods, places):
        flavor_topology = fleet.flavors[name]
        shared = flavor_topology.tree.by_host and flavor_topology.gates.overlapping
        found = flavor_topology.place(members, of_hosts if shared else {}, empty=empty, previous_counts=True)
        places.refused.update(found.refused)
        for member in members:
            assignment = found.assigned.get(member.name)
            if assignment is not None and question.all_pods and assignment.pods < member.count:
                left = member.count - assignment.pods
                places.faults[member.name] = f"slices leave {left} of {member.count} pod(s) without a place"
            elif assignment is not None:
                places.assigned[member.name] = assignment
    return places


class TopologyShortage(NamedTuple):
    """Why a pod set has no places in a flavor.

    levels: of the flavor's topology.
    domain: the domain that is short.
    ever: whether it would fit if no workload had places.
    """

    pod_set: str
    flavor: str
    levels: tuple[str, ...]
    domain: ShortDomain
    ever: bool


def find_shortages(
    fleet: Fleet, question: TopologyQuestion, pods: Iterable[FlavoredPods], *, empty: bool = False
) -> list[TopologyShortage]:
    """The shortage in each flavor, for its first pod set without room."""
    found = []
    for name, members in pods_by_flavor(fleet, question, pods, WorkloadPlaces()):
        flavor_topology, used = fleet.flavors[name], dict[DomainId, dict[str, int]]()
        for group in groups(members):
            placed = flavor_topology.place_group(group, used, empty=empty)
            if isinstance(placed, str):
                short = flavor_topology.shortage(group, used, empty=empty)
                if short is not None:
                    levels = flavor_topology.tree.levels
                    found.append(TopologyShortage(group[0].name, name, levels, short, not empty))
                break
            for member, assignment in zip(group, placed, strict=True):
                use(used, member, assignment)
    return found


def pods_by_flavor(
    fleet: Fleet, question: TopologyQuestion, pods: Iterable[FlavoredPods], places: WorkloadPlaces
) -> list[tuple[str, list[PlacedPods]]]:
    """The pod sets that need a place, by flavor, sorted by its name. Faults of the others are added to `places`."""
    found: dict[str, list[PlacedPods]] = {}
    for entry in pods:
        pod_set = question.workload.pod_set(entry.name)
        if pod_set is None or not question.needs_places(entry):
            continue
        try:
            flavor = _flavor(fleet, question, entry)
            placed = _placed_pods(fleet.flavors[flavor], question, pod_set, entry.count)
        except UnplaceablePods as error:
            places.faults[entry.name] = str(error)
        else:
            found.setdefault(flavor, []).append(placed)
    return sorted(found.items())


def request_of(pod_set: PodSet) -> TopologyRequest:
    """The topology request of the pod set. Without a level or slices, it is implied, and only its group is read."""
    request = read_topology_request(mapping(pod_set.topology))
    return request if pod_set.asks_for_topology else replace(request, anywhere=True)


def topology_flavor(flavors: Mapping[str, str], with_topology: Collection[str]) -> str:
    """The only flavor with a topology among the flavors of a pod set.

    Raises UnplaceablePods if there is not exactly one.
    """
    found = sorted({flavor for flavor in flavors.values() if flavor in with_topology})
    if not found:
        raise UnplaceablePods("no TAS flavor assigned")
    if len(found) > 1:
        raise UnplaceablePods(f"more than one TAS flavor assigned: {', '.join(found)}")
    return found[0]


def _flavor(fleet: Fleet, question: TopologyQuestion, entry: FlavoredPods) -> str:
    if not question.with_topology:
        raise UnplaceablePods(_NO_TOPOLOGY)
    flavor = topology_flavor(entry.flavors, question.with_topology)
    if flavor not in fleet.flavors:
        raise UnplaceablePods(f"{_NO_TOPOLOGY} for the assigned flavor")
    return flavor


def _placed_pods(flavor: FlavorTopology, question: TopologyQuestion, pod_set: PodSet, count: int) -> PlacedPods:
    request, workload = request_of(pod_set), question.workload
    if workload.elastic and (request.required or request.preferred):
        kind = "required" if request.required else "preferred"
        raise UnplaceablePods(f"{kind} topology is not supported with ElasticJobsViaWorkloadSlices")
    spec, conflict = _updated(workload, pod_set)
    found = node_filter(spec, flavor.tolerations, scored=flavor.gates.preferred)
    previous = question.previous.get(pod_set.name)
    return PlacedPods(pod_set.name, count, per_pod(pod_set.template), request, found, previous, conflict)


def _updated(workload: Workload, pod_set: PodSet) -> tuple[Mapping[str, Any], str]:
    """The pod spec with the additions of Ready checks, and the contradiction of one with it or another; empty if none.

    Labels and annotations of the template are not known here.
    """
    spec = pod_set.template.spec
    updates = [
        update
        for check in workload.checks
        for update in check.updates
        if check.state == "Ready" and update.get("name") == pod_set.name
    ]
    if not updates:
        return spec, ""
    selector, tolerations = texts(spec.get("nodeSelector")), listing(spec.get("tolerations"))
    known: dict[str, dict[str, str]] = {"annotations": {}, "labels": {}, "nodeSelector": selector}
    for update in updates:
        for section, values in known.items():
            for key, value in sorted(texts(update.get(section)).items()):
                if values.setdefault(key, value) != value:
                    return spec, update_conflict(pod_set.name, section, key, values[key], value)
        tolerations = [*tolerations, *listing(update.get("tolerations"))]
    return {**spec, "nodeSelector": selector, "tolerations": tolerations}, ""


def admitted_places(
    workload: Workload, with_topology: Collection[str], counting: Counting = DEFAULT
) -> tuple[HeldPlaces, ...]:
    """The places of its admission in topologies. A pod set whose pods are all done has none."""
    found, left = [], counts_after_reclaim(workload, counting)
    for entry in workload.assignments:
        pod_set = workload.pod_set(entry.name)
        flavors = sorted({flavor for flavor in entry.flavors.values() if flavor in with_topology})
        if entry.topology is not None and pod_set is not None and left[pod_set.name] and flavors:
            assignment = read_topology_assignment(entry.topology)
            found.append(HeldPlaces(flavors[0], assignment, per_pod(pod_set.template)))
    return tuple(found)


# -- whether it still fits ---------------------------------------------------------------------------------------------


def net_usage(question: TopologyQuestion, pods: Iterable[FlavoredPods]) -> list[TopologyUsage]:
    """The usage of the assignments beyond that of the workload's admission in the same domain."""
    held = {entry.name: entry.topology for entry in question.workload.assignments}
    found: list[TopologyUsage] = []
    for entry in pods:
        pod_set = question.workload.pod_set(entry.name)
        if entry.assignment is None or pod_set is None:
            continue
        before = held.get(entry.name)
        present = read_topology_assignment(before) if before is not None else question.previous.get(entry.name)
        counts = net_counts(entry.assignment, present)
        if not counts:
            continue  # it keeps its places, even if its ClusterQueue has the flavor no more
        flavor = topology_flavor(entry.flavors, question.with_topology)
        requests = per_pod(pod_set.template)
        found.extend(TopologyUsage(flavor, domain, requests, count) for domain, count in counts.items())
    return found


def fits(fleet: Fleet, usage: Iterable[TopologyUsage]) -> bool:
    """Whether there is room now for each of these, considered alone, as Kueue checks before it admits.

    The resource `pods` is not checked, and pods that request nothing never fit.
    """
    return all(_fits(fleet.flavors[each.flavor].tree, each) for each in usage if each.flavor in fleet.flavors)


def _fits(tree: TopologyTree, usage: TopologyUsage) -> bool:
    domain = tree.find(usage.domain)
    if domain is None or not usage.requests:
        return False
    rooms = [below.remain for below in domain.children if isinstance(below, LowestDomain)] or [domain.remain]
    together = sum(_fitting(usage.requests, each) for each in rooms)
    return min(together, _fitting(usage.requests, domain.remain)) >= usage.pods


def _fitting(requests: Mapping[str, int], rest: Mapping[str, int]) -> int:
    """How many pods fit, without a check of the resource `pods`."""
    counts = (max(0, rest.get(resource, 0)) // amount for resource, amount in requests.items() if amount)
    return min(counts, default=UNBOUNDED)
