"""Finds a single quota of the ClusterQueue that would admit a workload if it were raised, by the last attempt.

There is none if several changes are needed, or if something other than quota is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from scheduling.flavors.assignment import FlavorAttempt, PodSetAssignment
from scheduling.flavors.modes import Mode
from scheduling.flavors.reasons import BeyondMaximum, Short
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.quota.state import ClusterQueueState, QuotaState
from scheduling.visibility.raising import Raise, raises
from scheduling.world.decisions import Wait

_Attempts: TypeAlias = Sequence[FlavorAttempt]


class SoleRaise(NamedTuple):
    """A quota to raise for the workload. `place`: the limit, with its current and its needed amount."""

    pair: FlavorResource
    place: Raise


def sole_raise(state: QuotaState, queue: ClusterQueueState, wait: Wait) -> SoleRaise | None:
    """The only quota that has to be raised to admit the workload now, in the first flavor of the queue's order.

    Flavors with a topology are left out: whether their nodes have room is not known before there is quota.
    """
    assignment = wait.assignment
    if assignment is None or wait.victims or len(assignment.pod_sets) < len(wait.workload.pod_sets):
        return None
    if not all(_all_tried(queue, each) for each in assignment.pod_sets):
        return None
    tried: list[_Attempts] = []  # pod sets that share their flavors have equal attempts
    for pod_set in assignment.pod_sets:
        if pod_set.attempts not in tried:
            tried.append(pod_set.attempts)
    groups = (group for attempts in tried for group in _groups(attempts))
    short = [group for group in groups if all(each.mode != Mode.FIT for each in group)]
    if len(short) != 1:
        return None
    lacks = [lack for lack in map(_lack, short[0]) if lack is not None]
    lacks = [lack for lack in lacks if all(_is_free_of(lack[0], each) for each in tried if short[0][0] not in each)]
    for pair, wanted in lacks:
        known = state.flavors.get(pair.flavor)
        if known is not None and not known.topology and (places := raises(queue.node, pair, wanted)):
            return SoleRaise(pair, places[0])
    return None


def _all_tried(queue: ClusterQueueState, pod_set: PodSetAssignment) -> bool:
    """Whether each resource group that it needs was tried, and only the attempts have reasons against it."""
    known = {reason for each in pod_set.attempts for reason in each.reasons}
    groups = {each.group for each in pod_set.attempts}
    needed = {
        place
        for place, group in enumerate(queue.settings.groups)
        if any(amount and name in group.resources for name, amount in pod_set.requests.items())
    }
    return not pod_set.fault and known.issuperset(pod_set.reasons) and needed <= groups


def _groups(attempts: _Attempts) -> Iterator[_Attempts]:
    for place in sorted({each.group for each in attempts}):
        yield [each for each in attempts if each.group == place]


def _lack(attempt: FlavorAttempt) -> tuple[FlavorResource, int] | None:
    """The only pair that is short in this flavor, with the total requested amount; None if there is not exactly one."""
    match attempt.reasons:
        case (Short(pair, wanted, _),):
            return pair, wanted
        case (BeyondMaximum(pair, earlier, requested, _),):
            return pair, plus(earlier, requested)
    return None


def _is_free_of(pair: FlavorResource, attempts: _Attempts) -> bool:
    """Whether no attempt lacks the pair. Otherwise these pod sets would take the added quota themselves."""
    return all(
        not isinstance(reason, Short | BeyondMaximum) or reason.pair != pair
        for each in attempts
        for reason in each.reasons
    )
