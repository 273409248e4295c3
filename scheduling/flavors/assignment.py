"""The result of a search for flavors: the flavors of each pod set, the attempts, and the shortages.

`scheduling.flavors.assigner` makes it, and `scheduling.flavors.messages` has the texts for it.
Source: Kueue v0.19, pkg/scheduler/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduling.flavors.modes import FlavorOutcome, Mode
from scheduling.flavors.reasons import Reason, Undeclared, severity
from scheduling.objects.amounts import FlavorResource, Requests, Usage, plus
from scheduling.objects.inadmissible_reasons import NO_MATCHING_FLAVOR
from scheduling.objects.requests import PodSetRequests
from scheduling.topology.assignment import TopologyAssignment

PODS = "pods"
ALL_TRIED = -1
"""In place of an index: the search tried all flavors of the group."""


@dataclass(frozen=True, slots=True)
class FlavorChoice:
    """The flavor of a resource.

    mode, outcome: how well it fits. level: the borrowing level.
    tried: the index of the last flavor that was tried; ALL_TRIED at the end of the group.
    """

    flavor: str
    mode: Mode
    level: int
    tried: int
    outcome: FlavorOutcome


@dataclass(frozen=True, slots=True)
class FlavorAttempt:
    """A flavor that was tried.

    group: the index of its resource group.
    mode, level: how well it fits, and the borrowing level.
    no_fit: the reason if it does not fit.
    """

    flavor: str
    group: int
    mode: Mode
    level: int = 0
    reasons: tuple[Reason, ...] = ()
    no_fit: str = ""


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """The result for a pod set.

    requests: of all `count` pods.
    choices: the flavors by resource.
    reasons: why it does not fit at once.
    places: its places in a topology. delayed: they are assigned after the admission checks.
    fault: why it can have no places, even in empty domains.
    """

    name: str
    count: int
    requests: Requests
    choices: Mapping[str, FlavorChoice]
    attempts: tuple[FlavorAttempt, ...] = ()
    reasons: tuple[Reason, ...] = ()
    places: TopologyAssignment | None = None
    delayed: bool = False
    fault: str = ""

    @property
    def flavors(self) -> dict[str, str]:
        """The flavors by resource."""
        return {resource: choice.flavor for resource, choice in self.choices.items()}

    @property
    def outcome(self) -> FlavorOutcome:
        if self.fault:
            return FlavorOutcome.NO_FIT
        if not self.reasons:
            return FlavorOutcome.FIT
        return min((choice.outcome for choice in self.choices.values()), default=FlavorOutcome.NO_FIT)


@dataclass(frozen=True, slots=True)
class FlavorAssignment:
    """The result for a workload. Pod sets after the first one that does not fit are missing.

    usage: by pair.
    level: the highest borrowing level.
    outcome: the worst outcome of all pod sets. no_fit: the reason if the workload does not fit.
    generation: of the ClusterQueue at the time of the search.
    """

    pod_sets: tuple[PodSetAssignment, ...]
    usage: Usage
    level: int
    outcome: FlavorOutcome
    no_fit: str = ""
    generation: int = 0

    @property
    def short(self) -> frozenset[FlavorResource]:
        """The pairs that need a preemption."""
        return frozenset(
            FlavorResource(choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.choices.items()
            if choice.outcome == FlavorOutcome.PREEMPT
        )

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(pod_set.count for pod_set in self.pod_sets)

    @property
    def nominated(self) -> Mapping[str, Mapping[str, str]]:
        """The flavors by pod set and resource. A second search in the same cycle must keep them."""
        return {pod_set.name: pod_set.flavors for pod_set in self.pod_sets}

    def deferred(self) -> FlavorAssignment:
        """The same assignment, with an outcome that fits only after victims have ended."""
        return replace(self, outcome=FlavorOutcome.DEFERRED_FIT)


def total_usage(
    pod_sets: Iterable[PodSetAssignment],
    predecessor: Sequence[PodSetRequests] = (),
    asked: Iterable[PodSetRequests] = (),
) -> Usage:
    """The usage of the pod sets by pair.

    With a predecessor, it is the usage of all requested pods minus that of the predecessor.

    predecessor: the requests of the slice to replace.
    asked: the requests of all pods, used only with a predecessor: a slice takes it over completely, even if fewer pods
        are assigned.
    """
    held = {entry.name: entry.requests for entry in predecessor}
    whole = {entry.name: entry for entry in asked} if predecessor else {}
    usage: dict[FlavorResource, int] = {}
    for pod_set in pod_sets:
        before, entry = held.get(pod_set.name, {}), whole.get(pod_set.name)
        wanted = pod_set.requests if entry is None else {**entry.requests, PODS: entry.count}
        for resource, choice in pod_set.choices.items():
            pair = FlavorResource(choice.flavor, resource)
            usage[pair] = plus(usage.get(pair, 0), wanted.get(resource, 0) - before.get(resource, 0))
    return usage


def needed(assignment: FlavorAssignment, compat: bool) -> Usage:
    """The usage for which a preemption has to make room: all of the assignment.

    Kueue leaves out the resource `pods`, so it may choose too few victims
    (docs/adr/2026-11-21-preemption-counts-pods.md).
    """
    return {
        pair: amount for pair, amount in assignment.usage.items() if amount and not (compat and pair.resource == PODS)
    }


def no_fit_reason(pod_sets: Iterable[PodSetAssignment], compat: bool) -> str:
    """The reason why there is no fit: the most severe of the pod sets that do not fit."""
    failed = (pod_set for pod_set in pod_sets if pod_set.outcome == FlavorOutcome.NO_FIT)
    return max((_pod_set_no_fit(pod_set, compat) for pod_set in failed), key=severity, default="")


def _pod_set_no_fit(pod_set: PodSetAssignment, compat: bool) -> str:
    """The least severe reason of each group's flavors, since one flavor is enough; of all groups, the most severe.

    A group with a fitting flavor gives no reason. In Kueue it does, because of its other flavors
    (docs/adr/2026-11-21-blame-the-group-that-failed.md).
    """
    least: dict[int, str] = {}
    for attempt in pod_set.attempts:
        if attempt.mode == Mode.NO_FIT or not compat:
            least[attempt.group] = min(least.get(attempt.group, attempt.no_fit), attempt.no_fit, key=severity)
    if not pod_set.attempts or any(isinstance(reason, Undeclared) for reason in pod_set.reasons):
        return NO_MATCHING_FLAVOR
    return max(least.values(), key=severity, default="")
