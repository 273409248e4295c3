"""Classic preemption: reclaim lent quota, preempt workloads with lower priority, and borrow if the policy allows it.

Source: Kueue v0.19, pkg/scheduler/preemption (preemption.go, classical).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import tee
from typing import NamedTuple

from policies.dialects.kueue_state import NEVER
from scheduling.objects.amounts import Usage
from scheduling.preemption.candidates import borrowers_below
from scheduling.preemption.search import Search
from scheduling.preemption.targets import PreemptionReason, PreemptionTarget
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState, Reservation


class _Origin(NamedTuple):
    """The position of another ClusterQueue with candidates.

    by_quota: a subtree with the preemptor, but without this queue, has quota for the request. Then the preemptor may
        reclaim the quota that the queue borrows.
    chain: the queue and its ancestors that are not ancestors of the preemptor.
    """

    by_quota: bool
    chain: tuple[QuotaNode, ...]


@dataclass(slots=True)
class _Candidates:
    """The ClusterQueues that may have candidates.

    by_quota: those from which the preemptor may reclaim.
    by_priority: those with candidates only by priority.
    """

    origins: dict[str, _Origin] = field(default_factory=dict)
    by_quota: list[ClusterQueueState] = field(default_factory=list)
    by_priority: list[ClusterQueueState] = field(default_factory=list)
    own: list[ClusterQueueState] = field(default_factory=list)


def classic_targets(search: Search) -> list[PreemptionTarget]:
    """The targets in the order of preemption; empty if preemption cannot help. The tree is not changed."""
    only_by_quota = _only_by_quota(search)
    candidates = _collect(search, only_by_quota)
    lists = (candidates.by_quota, candidates.by_priority, candidates.own)
    if search.shortfall().beyond(candidate for each in lists for queue in each for candidate in search.eligible(queue)):
        return []
    runs = _runs(search, candidates, only_by_quota)
    for borrowing, victims in zip(runs, tee(search.in_order(*lists), len(runs)), strict=True):
        found = _run(search, candidates, victims, borrowing)
        if found:
            return found
    return []


def _only_by_quota(search: Search) -> bool:
    """Whether the preemptor has to borrow and may not preempt for that, so that it can only reclaim."""
    node, policy = search.queue.node, search.queue.settings.preemption
    never = policy.borrow_within_cohort == NEVER
    return never and not all(node.used(pair) < node.nominal(pair) for pair in search.short)


def _collect(search: Search, only_by_quota: bool) -> _Candidates:
    node, policy = search.queue.node, search.queue.settings.preemption
    found = _Candidates(own=[search.queue])
    if policy.reclaim_within_cohort == NEVER:
        return found
    holds, rest = _fits_quota(search, node, search.need)
    below = node
    for cohort in node.path()[1:]:
        listed = found.by_quota if holds else found.by_priority
        others = borrowers_below(cohort, search.short, below) if holds or not only_by_quota else ()
        for other, chain in others:
            found.origins[other.name] = _Origin(holds, chain)
            listed.append(search.state.queues[other.name])
        fits, rest = _fits_quota(search, cohort, rest)
        holds, below = holds or fits, cohort
    return found


def _fits_quota(search: Search, node: QuotaNode, request: Usage) -> tuple[bool, Usage]:
    """Whether the node's own quota has room for the request, and the part of the request that remains for its parent.

    A request for 0 always fits. In Kueue it does not fit if the node is above its quota
    (docs/adr/2026-11-21-request-of-nothing.md).
    """
    asked = {pair: amount for pair, amount in request.items() if amount > 0 or search.compat}
    holds = not any(node.borrows(pair, amount) for pair, amount in asked.items())
    return holds, {pair: max(0, amount - node.local_free(pair)) for pair, amount in asked.items()}


def _runs(search: Search, candidates: _Candidates, only_by_quota: bool) -> tuple[bool, ...]:
    """The searches to run, in order. True: the preemptor may borrow after the preemption."""
    by_quota = search.any_in(candidates.by_quota)
    if only_by_quota or not (by_quota or search.any_in(candidates.by_priority)):
        return (True,)
    never = search.queue.settings.preemption.borrow_within_cohort == NEVER
    return (False, True) if never and not by_quota else (True, False)


def _run(
    search: Search, candidates: _Candidates, victims: Iterable[Reservation], borrowing: bool
) -> list[PreemptionTarget]:
    targets: list[PreemptionTarget] = []
    shortfall = search.shortfall()
    with search.state.simulation():
        for victim in victims:
            reason = _claim(search, candidates.origins.get(victim.queue.name), victim, borrowing)
            if reason is None:
                continue
            search.take(victim)
            targets.append(PreemptionTarget(victim, reason))
            if shortfall.release(victim.usage) and search.fits(borrowing):
                return search.minimal(targets, borrowing)
    return []


def _claim(search: Search, origin: _Origin | None, victim: Reservation, borrowing: bool) -> PreemptionReason | None:
    """The reason to preempt the workload; None if it may not be preempted in this run."""
    if origin is None:
        return PreemptionReason.IN_CLUSTER_QUEUE
    if not borrowing and search.loses_to(victim):
        return None
    while_borrowing = not origin.by_quota and _below_threshold(search, victim)
    if borrowing and not origin.by_quota and not while_borrowing:
        return None
    if not all(any(node.borrows(pair) for pair in search.short) for node in origin.chain):
        return None
    if while_borrowing:
        return PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING
    return PreemptionReason.IN_COHORT_RECLAMATION


def _below_threshold(search: Search, victim: Reservation) -> bool:
    """Whether borrowWithinCohort lets the preemptor preempt the victim in order to borrow."""
    policy, priority = search.queue.settings.preemption, victim.workload.priority
    if policy.borrow_within_cohort == NEVER or priority >= search.preemptor.priority:
        return False
    return policy.threshold is None or priority <= policy.threshold
