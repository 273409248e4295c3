"""The second pass over a workload with quota: it assigns delayed places, or replaces those of failed nodes.

The workload keeps its flavors and its quota, and preempts no other. Kueue may preempt for delayed places
(docs/adr/2026-11-27-a-second-pass-preempts-nobody.md). Source: Kueue v0.19, pkg/scheduler and pkg/workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.cycle.cycle import FAILED_CHECKS, NO_LONGER_FITS
from scheduling.flavors.places import placer
from scheduling.objects.copying import replace
from scheduling.objects.workload import Admission, PodSetAdmission, Workload
from scheduling.status.checks import REJECTED, RETRY
from scheduling.status.eviction import evict
from scheduling.status.node_failure import NODE_FAILURES
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.reservation import sync_admitted, waits_for_places, waits_for_topology
from scheduling.topology.assignment import TopologyAssignment
from scheduling.topology.encoding import read_topology_assignment, written_topology_assignment
from scheduling.topology.workload_places import FlavoredPods, WorkloadPlaces, find_places, fits, net_usage
from scheduling.topology.workload_replacements import find_replacement, find_replacements
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class PlacedLater:
    """The places to write into the admission.

    places: by pod set, unchanged ones included.
    decided: the pod sets whose places were delayed until now. Some may need none.
    unhealthy: the failed nodes that still have pods of the workload.
    """

    workload: Workload
    places: Mapping[str, TopologyAssignment]
    decided: frozenset[str] = frozenset()
    unhealthy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """No places were found. `evicts`: the workload is evicted with `message`; else it is tried again later."""

    workload: Workload
    message: str
    evicts: bool = False


SecondPass = PlacedLater | NotPlaced


def needs_second_pass(workload: Workload) -> bool:
    """Whether the workload has delayed places and all checks Ready, or an unhealthy node."""
    if workload.finished or workload.evicted or workload.on_hold or not workload.reserved:
        return False
    return _waits(workload) or bool(_lost(workload))


def second_pass(world: World, workload: Workload) -> SecondPass | None:
    """The result of the pass; None if there is nothing to place. The world is not changed."""
    admission = workload.admission
    queue = world.state.queues.get(admission.cluster_queue) if admission is not None else None
    found = placer(world.state, queue.settings, workload, world.checks) if queue is not None else None
    if admission is None or found is None or not needs_second_pass(workload):
        return None
    if any(check.state in (RETRY, REJECTED) for check in workload.checks):
        return NotPlaced(workload, FAILED_CHECKS)
    pods = [_flavored(workload, entry) for entry in admission.assignments]
    failed, decided = _lost(workload), frozenset[str]()
    together = world.state.options.replace_together
    if failed and together:
        places = find_replacements(found.fleet, found.question, pods, failed)
    elif failed:
        places = find_replacement(found.fleet, found.question, pods, failed[0])
    else:
        present = {each.name: each.assignment for each in pods if each.assignment is not None}
        delayed = {entry.name for entry in admission.assignments if waits_for_places(entry)}
        waiting = [
            each for each in pods if each.name in delayed and not found.later.intersection(each.flavors.values())
        ]
        if not waiting:
            return None
        decided = frozenset(each.name for each in waiting)
        places = find_places(found.fleet, found.question, waiting)
        places.assigned.update(present)
    if not places.complete:
        message = _message(places)
        gone = f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(failed)}"
        evicts = bool(failed) and world.state.options.fail_fast and not places.waits
        return NotPlaced(workload, gone if evicts else message, evicts)
    after = [replace(each, assignment=places.assigned.get(each.name)) for each in pods]
    if not fits(found.fleet, net_usage(found.question, after)):
        return NotPlaced(workload, NO_LONGER_FITS)
    left = () if together or workload.of_one_pod else failed[1:]
    return PlacedLater(workload, places.assigned, decided, left)


def after_second_pass(
    result: SecondPass, now: int, observability: Observability = LEGACY, *, by_prefix: bool = True
) -> Workload:
    """The workload with its new places, or evicted. It is unchanged if it will be tried again.

    by_prefix: see `written_topology_assignment`.
    """
    workload = result.workload
    if isinstance(result, NotPlaced):
        return evict(workload, NODE_FAILURES, result.message, now) if result.evicts else workload
    admission = workload.admission
    assert admission is not None
    entries = tuple(_with_places(entry, result, by_prefix) for entry in admission.assignments)
    placed = replace(workload, admission=Admission(admission.cluster_queue, entries), unhealthy_nodes=result.unhealthy)
    return sync_admitted(placed, now, observability)


def _with_places(entry: PodSetAdmission, result: PlacedLater, by_prefix: bool) -> PodSetAdmission:
    if entry.name in result.decided:
        entry = replace(entry, delayed="Ready")
    places = result.places.get(entry.name)
    if places is None:
        return entry
    return replace(entry, topology=written_topology_assignment(places, by_prefix=by_prefix))


def _flavored(workload: Workload, entry: PodSetAdmission) -> FlavoredPods:
    pod_set = workload.pod_set(entry.name)
    count = entry.count if entry.count is not None else pod_set.count if pod_set is not None else 0
    present = read_topology_assignment(entry.topology) if entry.topology is not None else None
    return FlavoredPods(entry.name, count, entry.flavors, present)


def _waits(workload: Workload) -> bool:
    checked = bool(workload.checks) and workload.checks_ready
    return checked and waits_for_topology(workload) and not workload.admitted


def _lost(workload: Workload) -> tuple[str, ...]:
    """The unhealthy nodes of an admitted workload on which it has places."""
    if not workload.unhealthy_nodes or not workload.admitted or workload.admission is None:
        return ()
    stored = [entry.topology for entry in workload.admission.assignments if entry.topology is not None]
    values = {domain.values[-1] for each in stored for domain in read_topology_assignment(each).domains}
    return tuple(name for name in workload.unhealthy_nodes if name in values)


def _message(places: WorkloadPlaces) -> str:
    """The message in Kueue's words. Pod sets that can never have a place have another text than those without room."""
    refused = [f"couldn't assign flavors to pod set {name}: {why}" for name, why in places.refused.items()]
    faults = [f"failed to assign flavors to pod set {name}: {why}" for name, why in places.faults.items()]
    return "; ".join([*refused, *faults])
