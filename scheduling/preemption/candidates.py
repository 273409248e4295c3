"""Finds preemption candidates, in the order of preemption.

Source: Kueue v0.19, pkg/scheduler/preemption/common (policy, order) and classical (positions in the tree).
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from policies.dialects.kueue_state import NEVER
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.order import Ordering
from scheduling.objects.queue_settings import ANY, LOWER_OR_NEWER, LOWER_PRIORITY
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState, QuotaState, Reservation

_NEVER_YET = sys.maxsize
"""The time of a reservation that is not in the status of the workload yet, since the write is in flight."""

_ORDERING = Ordering()

LocalQueueUsage: TypeAlias = Callable[[Reservation], Fraction | None]
"""The weighted usage of the workload's LocalQueue; None if its ClusterQueue has no admission fair sharing."""
OrderKey: TypeAlias = tuple[object, ...]
PreemptionOrder: TypeAlias = Callable[[Reservation, str], OrderKey]
"""The sort key of a reservation, for a preemptor in the ClusterQueue with this name."""


def order_key(reservation: Reservation, own: str) -> OrderKey:
    """The key of `kept_order`, but candidates of other ClusterQueues come before those of the preemptor's own."""
    evicted, *rest = _order_of(reservation)
    return (evicted, reservation.queue.settings.name == own, *rest)


def _order_of(reservation: Reservation) -> OrderKey:
    if reservation.order is None:
        reservation.order = kept_order(reservation)
    return reservation.order


def kept_order(reservation: Reservation) -> OrderKey:
    """The sort key: evicted workloads first, then low priority, then the latest reservation.

    It is cached, since every search needs the keys of all candidates, and this key does not depend on the preemptor.
    """
    workload = reservation.workload
    reserved = workload.holding(QUOTA_RESERVED)
    since = reserved.since if reserved is not None else _NEVER_YET
    return (not workload.evicted, workload.priority, -since, workload.uid, workload.key)


@dataclass(frozen=True, slots=True)
class CandidatePrecedence:
    """The settings that order candidates.

    ordering: the order of workloads in queues.
    usage: the usage of LocalQueues, for admission fair sharing.
    buffer: workloads of equal priority do not preempt each other if they began to wait within this many nanoseconds of
        each other.
    order: the candidate with the lowest key is preempted first.
    """

    ordering: Ordering = _ORDERING
    usage: LocalQueueUsage | None = None
    buffer: int = 0
    order: PreemptionOrder = order_key

    def allows(self, policy: str, preemptor: Workload, candidate: Workload) -> bool:
        if not _may_preempt(policy, candidate.priority, preemptor):
            return False
        if policy == ANY or candidate.priority < preemptor.priority:
            return True
        return self.ordering.since(candidate) > self.ordering.since(preemptor) + self.buffer

    def in_order(self, reservations: Iterable[Reservation], own: str) -> Iterator[Reservation]:
        """Yield candidates in the order of preemption. They are sorted lazily, since few searches need all."""
        return self.merged(self.by_queue(reservations, own).values(), own)

    def merged(self, streams: Iterable[Iterator[Reservation]], own: str) -> Iterator[Reservation]:
        """Merge the sorted candidates of several ClusterQueues into one order.

        Within a ClusterQueue with admission fair sharing, the usage of LocalQueues counts. It cannot be compared
        between ClusterQueues, so the next candidates of different queues are compared without it.
        """
        return heapq.merge(*streams, key=lambda reservation: self.order(reservation, own))

    def by_queue(self, reservations: Iterable[Reservation], own: str) -> dict[QuotaNode, Iterator[Reservation]]:
        """Candidates by ClusterQueue, each in the order of preemption."""
        found: dict[QuotaNode, list[tuple[OrderKey, Reservation]]] = {}
        for each in reservations:
            found.setdefault(each.queue.node, []).append((self._key_within(each, own), each))
        return {node: lazily(entries) for node, entries in found.items()}

    def is_kept(self) -> bool:
        """Whether the candidates of a ClusterQueue are sorted by `kept_order` for every preemptor."""
        return self.usage is None and self.order is order_key

    def _key_within(self, reservation: Reservation, own: str) -> OrderKey:
        if self.usage is None:
            return self.order(reservation, own)
        evicted, in_own, *rest = self.order(reservation, own)
        return (evicted, in_own, -(self.usage(reservation) or 0), *rest)


def lazily(entries: list[tuple[OrderKey, Reservation]]) -> Iterator[Reservation]:
    """Yield the reservations in the order of their keys, which are unique."""
    heapq.heapify(entries)
    while entries:
        yield heapq.heappop(entries)[1]


@dataclass(frozen=True, slots=True)
class QueueCandidates:
    """The candidates of a ClusterQueue: workloads that use a pair in `short` and that `policy` allows to preempt.

    Workloads that the current simulation has removed (`QuotaState.without`) are not candidates.
    """

    state: QuotaState
    queue: ClusterQueueState
    policy: str
    preemptor: Workload
    short: Set[FlavorResource]
    precedence: CandidatePrecedence

    def in_any_order(self) -> Iterator[Reservation]:
        for priority, reservations in self.queue.by_priority.items():
            if _may_preempt(self.policy, priority, self.preemptor):
                yield from self._among(reservations.values(), priority)

    def in_order(self, own: str) -> Iterator[Reservation]:
        """Yield the candidates in the order of preemption, for a preemptor in the ClusterQueue `own`.

        The order is cached, since consecutive searches have almost the same candidates.
        """
        if not self.precedence.is_kept():
            return self.precedence.in_order(self.in_any_order(), own)
        streams = [
            self._among(_in_turn(self.queue, priority), priority)
            for priority in self.queue.by_priority
            if _may_preempt(self.policy, priority, self.preemptor)
        ]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=_order_of)

    def _among(self, reservations: Iterable[Reservation], priority: int) -> Iterator[Reservation]:
        own_key = self.preemptor.key
        all_allowed = self.policy == ANY or priority < self.preemptor.priority
        for reservation in reservations:
            if reservation.key in self.state.away or reservation.key == own_key:
                continue
            usage = reservation.usage
            for pair in self.short:
                if usage.get(pair, 0) > 0:
                    if all_allowed or self.precedence.allows(self.policy, self.preemptor, reservation.workload):
                        yield reservation
                    break


def _in_turn(queue: ClusterQueueState, priority: int) -> list[Reservation]:
    """All reservations of this priority in the order of `kept_order`."""
    found = queue.in_turn.get(priority)
    if found is None:
        found = queue.in_turn[priority] = sorted(queue.by_priority[priority].values(), key=_order_of)
    return found


def nobody_can_be_preempted(
    queue: ClusterQueueState,
    path: Sequence[QuotaNode],
    pairs: Iterable[FlavorResource],
    preemptor: Workload,
    fair_sharing: bool,
) -> bool:
    """Whether there can be no candidates, whichever workloads run. False if that depends on the workloads.

    path: the path of the ClusterQueue. pairs: all pairs that the preemptor may request.
    """
    policy = queue.settings.preemption
    within = policy.within_cluster_queue
    if within != NEVER and any(_may_preempt(within, priority, preemptor) for priority in queue.by_priority):
        return False
    if policy.reclaim_within_cohort == NEVER:
        return True
    for below, cohort in pairwise(path):
        for pair in cohort.borrowers if fair_sharing else pairs:
            borrowers = cohort.borrowers.get(pair)
            if borrowers and (len(borrowers) > 1 or below not in borrowers):
                return False
    return True


def _may_preempt(policy: str, priority: int, preemptor: Workload) -> bool:
    if policy == LOWER_PRIORITY:
        return priority < preemptor.priority
    if policy == LOWER_OR_NEWER:
        return priority <= preemptor.priority
    return policy == ANY


def borrowers_below(
    cohort: QuotaNode, short: Set[FlavorResource], besides: QuotaNode
) -> Iterator[tuple[QuotaNode, tuple[QuotaNode, ...]]]:
    """Yield the ClusterQueues that borrow a pair in `short`, in Cohorts that borrow as well, except below `besides`.

    Each one has the path from itself up to `cohort`, which is not included.
    """
    stack: list[tuple[QuotaNode, tuple[QuotaNode, ...]]] = [(cohort, ())]
    while stack:
        node, chain = stack.pop()
        for child in dict.fromkeys(child for pair in short for child in node.borrowers.get(pair, ())):
            if child is besides:
                continue
            if child.is_queue:
                yield child, (child, *chain)
            else:
                stack.append((child, (child, *chain)))
