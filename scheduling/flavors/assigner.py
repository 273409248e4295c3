"""Finds the flavors that a workload would get in its ClusterQueue now, and why it does not get others.

The search tries the pod sets in the order of the workload, their resource groups in Kueue's order, and the flavors of a
group in the order of the ClusterQueue. The usage of earlier pod sets counts for later ones. It only reads the
ClusterQueue's path in the tree, and calls `simulate` only if a preemption could help. Source: Kueue v0.19,
pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from scheduling.flavors.assignment import (
    PODS,
    FlavorAssignment,
    FlavorAttempt,
    FlavorChoice,
    PodSetAssignment,
    no_fit_reason,
    total_usage,
)
from scheduling.flavors.group_search import FlavorQuestion, GroupSearch, SearchedPodSet
from scheduling.flavors.modes import FlavorOutcome, Grade, Mode, Simulate
from scheduling.flavors.reasons import Reason, Undeclared
from scheduling.flavors.scan_progress import Progress
from scheduling.objects.amounts import FlavorResource, Usage, plus
from scheduling.objects.queue_settings import ClusterQueueSettings
from scheduling.objects.requests import PodSetRequests, total_requests
from scheduling.objects.workload import Workload
from scheduling.quota.state import ClusterQueueState, QuotaState
from scheduling.topology.request import group_name

_FROM_THE_START = Progress()


def nobody(_pair: FlavorResource, _amount: int) -> Grade:
    """A `Simulate` that never finds a candidate to preempt."""
    return Grade(Mode.NO_CANDIDATES, 0)


def assign(
    state: QuotaState,
    queue: ClusterQueueState,
    workload: Workload,
    counts: Sequence[int] | None = None,
    resume: Progress | None = None,
    simulate: Simulate = nobody,
    *,
    requests: Sequence[PodSetRequests] | None = None,
    nominated: Mapping[str, Mapping[str, str]] | None = None,
    predecessor: Sequence[PodSetRequests] = (),
) -> FlavorAssignment:
    """Find flavors for every pod set. Nothing is changed.

    counts: the numbers of pods to use instead of the requested ones.
    resume: where the search of an earlier cycle ended.
    simulate: tells which preemption would help.
    requests: the requests of the workload, if the caller has counted them.
    nominated: if given, the only flavors that may be used, by pod set and resource.
    predecessor: the usage of the workload that this one replaces.
    """
    whole = asked = total_requests(workload) if requests is None else requests
    if counts is not None:
        asked = [entry.scaled_to(count) for entry, count in zip(whole, counts, strict=True)]
    held = {entry.name: entry for entry in predecessor}
    question = FlavorQuestion(state, queue, workload, simulate, resume or _FROM_THE_START, nominated, held)
    pod_sets: list[PodSetAssignment] = []
    for members in _together(workload, asked, queue.settings):
        assumed = total_usage(pod_sets, predecessor, whole) if pod_sets else {}
        found = _serve(question, members, assumed)
        pod_sets.extend(found)
        if any(pod_set.outcome == FlavorOutcome.NO_FIT for pod_set in found):
            break
    return _concluded(state, queue, tuple(pod_sets), total_usage(pod_sets, predecessor, whole))


def _concluded(
    state: QuotaState, queue: ClusterQueueState, pod_sets: tuple[PodSetAssignment, ...], usage: Usage
) -> FlavorAssignment:
    outcome = min((pod_set.outcome for pod_set in pod_sets), default=FlavorOutcome.NO_FIT)
    return FlavorAssignment(
        pod_sets=pod_sets,
        usage=usage,
        level=max((choice.level for pod_set in pod_sets for choice in pod_set.choices.values()), default=0),
        outcome=outcome,
        no_fit=no_fit_reason(pod_sets, state.options.compat) if outcome == FlavorOutcome.NO_FIT else "",
        generation=state.generation(queue),
    )


def _serve(
    question: FlavorQuestion, members: Sequence[SearchedPodSet], assumed: Mapping[FlavorResource, int]
) -> list[PodSetAssignment]:
    """Assign one pod set, or several that share their flavors. `assumed`: the usage of earlier pod sets."""
    options, settings = question.state.options, question.queue.settings
    choices: dict[str, FlavorChoice] = {}
    attempts: list[FlavorAttempt] = []
    reasons: list[Reason] = []
    total = _total(members)
    order = _ordered(tuple(total))
    for resource in order:
        if resource in choices:
            continue
        place = next((place for place, group in enumerate(settings.groups) if resource in group.resources), None)
        if place is None and (total[resource] == 0 or options.ignore_undeclared):
            continue
        if place is None:
            choices, reasons = {}, [Undeclared(resource)]
            break
        covered = settings.groups[place].resources
        wanted = {name: total[name] for name in order if name in covered}
        search = GroupSearch(question, place, members, wanted, assumed)
        found = search.run(resource)
        attempts += search.attempts
        if not found:
            choices, reasons = {}, search.reasons
            break
        choices.update(found)
        reasons += search.reasons
    of_group = _with_topology(question.state, choices) if len(members) > 1 else {}
    return [_assigned(member, choices, of_group, tuple(attempts), tuple(reasons)) for member in members]


def _with_topology(state: QuotaState, choices: Mapping[str, FlavorChoice]) -> dict[str, FlavorChoice]:
    """The choices with a topology.

    A group member that requests none of these resources gets them too, since it is placed with its group.
    """
    found = {resource: state.flavors.get(choice.flavor) for resource, choice in choices.items()}
    if state.fleet is None:
        return {}
    return {resource: choices[resource] for resource, flavor in found.items() if flavor is not None and flavor.topology}


def _assigned(
    member: SearchedPodSet,
    choices: Mapping[str, FlavorChoice],
    of_group: Mapping[str, FlavorChoice],
    attempts: tuple[FlavorAttempt, ...],
    reasons: tuple[Reason, ...],
) -> PodSetAssignment:
    own = {resource: choice for resource, choice in choices.items() if resource in member.requests} or of_group
    return PodSetAssignment(member.pod_set.name, member.count, member.requests, own, attempts, reasons)


# -- requests ----------------------------------------------------------------------------------------------------------


def _together(
    workload: Workload, asked: Sequence[PodSetRequests], settings: ClusterQueueSettings
) -> Iterable[list[SearchedPodSet]]:
    """The pod sets in order. Those of one topology group are together, since they must have the same flavors."""
    counts_pods = settings.group_of(PODS) is not None
    groups: dict[object, list[SearchedPodSet]] = {}
    for place, (pod_set, entry) in enumerate(zip(workload.pod_sets, asked, strict=True)):
        requests = {**entry.requests, PODS: entry.count} if counts_pods else entry.requests
        name = group_name(pod_set.topology) if pod_set.topology else ""
        groups.setdefault(name or place, []).append(SearchedPodSet(place, pod_set, entry.count, requests))
    return groups.values()


def _total(members: Sequence[SearchedPodSet]) -> Mapping[str, int]:
    if len(members) == 1:
        return members[0].requests
    total: dict[str, int] = {}
    for member in members:
        for resource, amount in member.requests.items():
            total[resource] = plus(total.get(resource, 0), amount)
    return total


@lru_cache(maxsize=1024)
def _ordered(resources: tuple[str, ...]) -> tuple[str, ...]:
    """The resources sorted by their FNV-1a hash, as in Kueue, so that messages are about the same resource group."""
    return tuple(sorted(resources, key=lambda resource: (_fnv(resource), resource)))


def _fnv(name: str) -> int:
    """The 64-bit FNV-1a hash of the name."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value
