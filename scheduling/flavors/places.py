"""Finds places in topologies for a workload that has flavors.

Flavors are searched by quota first. If quota fits and the topology has no room, preemption may help, unless even an
empty topology has no room. Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING
from scheduling.flavors.assignment import FlavorAssignment, PodSetAssignment, no_fit_reason
from scheduling.flavors.eligibility import topology_only
from scheduling.flavors.modes import FlavorOutcome, Mode
from scheduling.flavors.reasons import NoPlace
from scheduling.objects.copying import replace
from scheduling.objects.inadmissible_reasons import TOPOLOGY_PLACEMENT_FAILED
from scheduling.objects.queue_settings import CheckSettings, ClusterQueueSettings
from scheduling.objects.requests import per_pod
from scheduling.objects.workload import Workload
from scheduling.quota.state import QuotaState
from scheduling.topology.encoding import read_topology_assignment
from scheduling.topology.fleet import Fleet, HeldPlaces
from scheduling.topology.workload_places import (
    FlavoredPods,
    TopologyQuestion,
    TopologyShortage,
    UnplaceablePods,
    WorkloadPlaces,
    find_places,
    find_shortages,
    fits,
    net_usage,
    topology_flavor,
)


@dataclass(frozen=True, slots=True)
class TopologyPlacer:
    """Finds the places of a workload.

    later: the flavors whose places are assigned after the admission checks.
    compat: see `Options`.
    """

    fleet: Fleet
    question: TopologyQuestion
    later: frozenset[str]
    compat: bool

    def nominate(self, assignment: FlavorAssignment) -> FlavorAssignment:
        """The assignment with places, or with the worse outcome that lacks them."""
        if assignment.outcome == FlavorOutcome.NO_FIT:
            return assignment
        assignment = self._delayed(assignment)
        if assignment.outcome == FlavorOutcome.FIT:
            found = self._find(assignment)
            if found.faults:
                return self._faulty(assignment, found)
            if found.complete:
                return _placed(assignment, found)
            assignment = _short(assignment, found)
        found = self._find(assignment, empty=True)
        if found.faults:
            return self._faulty(assignment, found)
        if not found.complete:
            return self._refused(assignment, found)
        return _preempting(assignment, found)

    def shortages(self, assignment: FlavorAssignment) -> list[TopologyShortage]:
        """The domains that are short. Domains that would be short even if empty come first."""
        pods = self._placed_now(assignment)
        never = find_shortages(self.fleet, self.question, pods, empty=True)
        return never or find_shortages(self.fleet, self.question, pods)

    def placeable(self, assignment: FlavorAssignment) -> Callable[[], bool]:
        """A function that tells whether all pods have places now."""
        return lambda: self._find(assignment).complete

    def reserving(self, assignment: FlavorAssignment, *, empty: bool) -> FlavorAssignment:
        """The assignment with the places to reserve while it waits for its victims, if there are any."""
        found = self._find(assignment, empty=empty)
        return _placed(assignment, found) if found.complete else _placed(assignment, WorkloadPlaces())

    def fits(self, assignment: FlavorAssignment) -> bool:
        return fits(self.fleet, net_usage(self.question, _pods(assignment, with_places=True)))

    def held(self, assignment: FlavorAssignment) -> tuple[HeldPlaces, ...]:
        found = []
        for each in assignment.pod_sets:
            pod_set = self.question.workload.pod_set(each.name)
            if each.places is not None and pod_set is not None:
                try:
                    flavor = topology_flavor(each.flavors, self.question.with_topology)
                except UnplaceablePods:
                    continue
                found.append(HeldPlaces(flavor, each.places, per_pod(pod_set.template)))
        return tuple(found)

    def _faulty(self, assignment: FlavorAssignment, found: WorkloadPlaces) -> FlavorAssignment:
        pod_sets = tuple(replace(each, fault=found.faults.get(each.name, "")) for each in assignment.pod_sets)
        return self._no_fit(assignment, pod_sets)

    def _refused(self, assignment: FlavorAssignment, found: WorkloadPlaces) -> FlavorAssignment:
        """The assignment without a fit. The flavor whose topology is too small counts as a flavor that does not fit."""
        first = _first_refused(assignment, found)
        pod_sets = tuple(self._too_small(each) if each.name == first else each for each in assignment.pod_sets)
        return self._no_fit(assignment, pod_sets)

    def _too_small(self, pod_set: PodSetAssignment) -> PodSetAssignment:
        flavors = {*pod_set.flavors.values()}.intersection(self.question.with_topology)
        attempts = tuple(
            replace(each, mode=Mode.NO_FIT, no_fit=TOPOLOGY_PLACEMENT_FAILED) if each.flavor in flavors else each
            for each in pod_set.attempts
        )
        choices = {name: replace(each, outcome=FlavorOutcome.NO_FIT) for name, each in pod_set.choices.items()}
        return replace(pod_set, attempts=attempts, choices=choices)

    def _no_fit(self, assignment: FlavorAssignment, pod_sets: tuple[PodSetAssignment, ...]) -> FlavorAssignment:
        no_fit = no_fit_reason(pod_sets, self.compat) or TOPOLOGY_PLACEMENT_FAILED
        return replace(assignment, pod_sets=pod_sets, outcome=FlavorOutcome.NO_FIT, no_fit=no_fit)

    def _find(self, assignment: FlavorAssignment, *, empty: bool = False) -> WorkloadPlaces:
        return find_places(self.fleet, self.question, self._placed_now(assignment), empty=empty)

    @staticmethod
    def _placed_now(assignment: FlavorAssignment) -> list[FlavoredPods]:
        return [entry for entry, each in zip(_pods(assignment), assignment.pod_sets, strict=True) if not each.delayed]

    def _delayed(self, assignment: FlavorAssignment) -> FlavorAssignment:
        if not self.later:
            return assignment
        delayed = {
            pods.name
            for pods in _pods(assignment)
            if self.question.needs_places(pods) and not self.later.isdisjoint(pods.flavors.values())
        }
        pod_sets = tuple(replace(each, delayed=each.name in delayed) for each in assignment.pod_sets)
        return replace(assignment, pod_sets=pod_sets)


def placer(
    state: QuotaState,
    settings: ClusterQueueSettings,
    workload: Workload,
    checks: Mapping[str, CheckSettings],
    predecessor: Workload | None = None,
) -> TopologyPlacer | None:
    """The placer of the workload; None if no pod set needs or has places.

    `predecessor`: the slice from which it takes over.
    """
    if state.fleet is None:
        return None
    flavors = map(state.flavors.get, settings.flavors)
    with_topology = [flavor.name for flavor in flavors if flavor is not None and flavor.topology]
    only = topology_only(state, settings)
    placed = any(entry.topology is not None for entry in workload.assignments)
    if not (only or placed or any(pod_set.asks_for_topology for pod_set in workload.pod_sets)):
        return None
    previous = {
        entry.name: read_topology_assignment(entry.topology)
        for entry in (predecessor.assignments if predecessor is not None else ())
        if entry.topology is not None
    }
    question = TopologyQuestion(workload, with_topology, only, not state.options.compat, previous)
    return TopologyPlacer(
        state.fleet, question, _later(settings, workload, with_topology, checks), state.options.compat
    )


def _later(
    settings: ClusterQueueSettings, workload: Workload, flavors: list[str], checks: Mapping[str, CheckSettings]
) -> frozenset[str]:
    """The flavors whose nodes exist only after provisioning, or on a worker cluster."""
    found: set[str] = set()
    for use in settings.checks:
        controller = checks[use.name].controller if use.name in checks else ""
        if controller == MULTIKUEUE:
            found.update(flavors)
        elif controller == PROVISIONING and not workload.reserved:
            found.update(use.on_flavors or flavors)
    return frozenset(found & set(flavors))


def _pods(assignment: FlavorAssignment, *, with_places: bool = False) -> list[FlavoredPods]:
    return [
        FlavoredPods(each.name, each.count, each.flavors, each.places if with_places else None)
        for each in assignment.pod_sets
    ]


def _placed(assignment: FlavorAssignment, found: WorkloadPlaces) -> FlavorAssignment:
    pod_sets = tuple(replace(each, places=found.assigned.get(each.name)) for each in assignment.pod_sets)
    return replace(assignment, pod_sets=pod_sets)


def _short(assignment: FlavorAssignment, found: WorkloadPlaces) -> FlavorAssignment:
    """The assignment with the reason that its topology has no room, although its quota fits."""
    pod_sets = tuple(
        replace(each, reasons=(*each.reasons, NoPlace(found.refused[each.name])))
        if each.name == _first_refused(assignment, found)
        else each
        for each in assignment.pod_sets
    )
    return replace(assignment, pod_sets=pod_sets, outcome=FlavorOutcome.PREEMPT)


def _first_refused(assignment: FlavorAssignment, found: WorkloadPlaces) -> str:
    """The pod set that the message names. The pod sets of a group are refused together."""
    return next(each.name for each in assignment.pod_sets if each.name in found.refused)


def _preempting(assignment: FlavorAssignment, found: WorkloadPlaces) -> FlavorAssignment:
    """The assignment whose pod sets in topologies need a preemption for all resources, even if their quota fits."""
    pod_sets = tuple(_short_of_all(each) if each.name in found.assigned else each for each in assignment.pod_sets)
    return replace(assignment, pod_sets=pod_sets)


def _short_of_all(pod_set: PodSetAssignment) -> PodSetAssignment:
    choices = {
        resource: replace(choice, mode=min(choice.mode, Mode.RECLAIM), outcome=FlavorOutcome.PREEMPT)
        for resource, choice in pod_set.choices.items()
    }
    return replace(pod_set, choices=choices)
