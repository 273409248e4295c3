"""The result of a search for flavors, as immutable data: what each pod set gets, what was tried, and what is short.

`scheduling.flavors.assigner` makes it, `scheduling.flavors.messages` puts it into words.
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
"""Stands for an index: the search tried all flavors of the group."""


@dataclass(frozen=True, slots=True)
class FlavorChoice:
    """One resource's flavor. `tried`: the index of the last flavor tried, ALL_TRIED at the end of the group."""

    flavor: str
    mode: Mode
    level: int
    tried: int
    outcome: FlavorOutcome


@dataclass(frozen=True, slots=True)
class FlavorAttempt:
    """A flavor that was tried. `group`: the index of its resource group. `no_fit`: the reason if it cannot fit."""

    flavor: str
    group: int
    mode: Mode
    level: int = 0
    reasons: tuple[Reason, ...] = ()
    no_fit: str = ""


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """`requests` are those of all `count` pods, `choices` are by resource. `reasons`: why it does not fit at once.

    `places` are those in its topology; `delayed`: they are assigned after the admission checks. `fault`: why it cannot
    have any, whatever room there is.
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
    def outcome(self) -> FlavorOutcome:
        if self.fault:
            return FlavorOutcome.NO_FIT
        if not self.reasons:
            return FlavorOutcome.FIT
        return min((choice.outcome for choice in self.choices.values()), default=FlavorOutcome.NO_FIT)


@dataclass(frozen=True, slots=True)
class FlavorAssignment:
    """`usage` is by pair, `level` the highest borrowing level, `outcome` the worst of all pod sets.

    Pod sets after the first one that does not fit are missing. `generation` is that of the ClusterQueue at the time.
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
        """The flavors by pod set and resource, which a second search in the same cycle must keep."""
        return {
            pod_set.name: {resource: choice.flavor for resource, choice in pod_set.choices.items()}
            for pod_set in self.pod_sets
        }

    def deferred(self) -> FlavorAssignment:
        """The same assignment, to fit only after others have left."""
        return replace(self, outcome=FlavorOutcome.DEFERRED_FIT)


def total_usage(
    pod_sets: Iterable[PodSetAssignment],
    predecessor: Sequence[PodSetRequests] = (),
    asked: Iterable[PodSetRequests] = (),
) -> Usage:
    """The usage of the pod sets by pair.

    With a `predecessor` that they replace: what was `asked` for, minus what that one holds already. Fewer pods than
    asked for may be assigned, but a slice takes over all that it replaces.
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
    """What preemption must make room for: the whole usage of the assignment.

    Kueue leaves out the number of pods, so it may choose too few victims
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
    """The least severe reason of a group's flavors, since one is enough; then the most severe of all groups.

    A group with a flavor that fits is not to blame. Kueue blames it for its other flavors
    (docs/adr/2026-11-21-blame-the-group-that-failed.md).
    """
    least: dict[int, str] = {}
    for attempt in pod_set.attempts:
        if attempt.mode == Mode.NO_FIT or not compat:
            least[attempt.group] = min(least.get(attempt.group, attempt.no_fit), attempt.no_fit, key=severity)
    if not pod_set.attempts or any(isinstance(reason, Undeclared) for reason in pod_set.reasons):
        return NO_MATCHING_FLAVOR
    return max(least.values(), key=severity, default="")
