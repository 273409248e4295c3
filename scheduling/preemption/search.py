"""The common part of both preemption algorithms: the preemptor's need, the missing amounts, and trial removals.

A search removes usage from the tree within `QuotaTree.simulation`, which undoes it.
Source: Kueue v0.19, pkg/scheduler/preemption/preemption.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import CandidatePrecedence, QueueCandidates
from scheduling.preemption.targets import PreemptionTarget
from scheduling.quota.state import ClusterQueueState, QuotaState, Reservation


def always() -> bool:
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The inputs of a search.

    need: the requests of the preemptor, by pair. short: the pairs of them that do not fit now.
    placeable: tells whether its pods have places in their topologies now.
    """

    state: QuotaState
    preemptor: Workload
    queue: ClusterQueueState
    need: Usage
    short: Set[FlavorResource]
    precedence: CandidatePrecedence
    placeable: Callable[[], bool] = always

    @property
    def compat(self) -> bool:
        return self.state.options.compat

    def eligible(self, queue: ClusterQueueState) -> Iterator[Reservation]:
        """Yield the candidates in the ClusterQueue, not sorted."""
        return iter(()) if queue.inactive else self._candidates(queue).in_any_order()

    def any_in(self, queues: Iterable[ClusterQueueState]) -> bool:
        return any(next(self.eligible(queue), None) is not None for queue in queues)

    def in_turn(self, queue: ClusterQueueState) -> Iterator[Reservation]:
        """Yield the candidates in the ClusterQueue, in the order of preemption."""
        return iter(()) if queue.inactive else self._candidates(queue).in_order(self.queue.name)

    def in_order(self, *lists: Iterable[ClusterQueueState]) -> Iterator[Reservation]:
        """Yield the candidates of one list after the other, each in the order of preemption.

        Evicted ones come first.
        """
        ordered = [self.precedence.merged(map(self.in_turn, queues), self.queue.name) for queues in lists]
        return heapq.merge(*ordered, key=lambda reservation: not reservation.workload.evicted)

    def shortfall(self) -> Shortfall:
        node = self.queue.node
        missing = {pair: amount - node.available(pair) for pair, amount in self.need.items() if amount > 0}
        return Shortfall({pair: amount for pair, amount in missing.items() if amount > 0})

    def fits(self, borrowing: bool) -> bool:
        """Whether the preemptor fits now. Without `borrowing`, it must also stay within its nominal quota.

        Pairs that are not short may be borrowed even then, since no victims are needed for them; see `loses_to` for an
        exception. Kueue allows no borrowing at all (docs/adr/2026-11-21-reclaim-while-borrowing-something-else.md).
        """
        node = self.queue.node
        if any(amount > 0 and amount > node.available(pair) for pair, amount in self.need.items()):
            return False
        own = self.need if self.compat else self.short
        if not borrowing and any(node.borrows(pair, self.need[pair]) for pair in own):
            return False
        return self.placeable()

    def loses_to(self, victim: Reservation) -> bool:
        """Whether the victim may get the quota again before the preemptor, which has to borrow another pair.

        Heads that borrow are tried by priority, so both would preempt each other in turns.
        """
        if self.state.options.preemptors_first or victim.workload.priority < self.preemptor.priority:
            return False
        others = ((pair, amount) for pair, amount in self.need.items() if amount > 0 and pair not in self.short)
        return any(self.queue.node.borrows(pair, amount) for pair, amount in others)

    def take(self, reservation: Reservation) -> None:
        self.state.tree.remove(reservation.queue.node, self._part_of(reservation))
        self.state.count_places(reservation.places, -1)

    def give_back(self, reservation: Reservation) -> None:
        self.state.tree.add(reservation.queue.node, self._part_of(reservation))
        self.state.count_places(reservation.places)

    def _candidates(self, queue: ClusterQueueState) -> QueueCandidates:
        policies = self.queue.settings.preemption
        policy = policies.within_cluster_queue if queue is self.queue else policies.reclaim_within_cohort
        return QueueCandidates(self.state, queue, policy, self.preemptor, self.short, self.precedence)

    def _part_of(self, reservation: Reservation) -> Usage:
        """The usage to remove: only needed pairs, but all pairs for fair sharing, since shares depend on them."""
        if self.state.options.fair_sharing:
            return reservation.usage
        return {pair: amount for pair, amount in reservation.usage.items() if pair in self.need}

    def minimal(
        self, targets: list[PreemptionTarget], borrowing: bool, spare: Callable[[], bool] = always
    ) -> list[PreemptionTarget]:
        """The targets that are needed. Before the call all are removed; the last one is always needed.

        spare: called with a target back in the tree. If it returns False, the target is needed for another reason.
        """
        needed = targets[-1:]
        for target in reversed(targets[:-1]):
            self.give_back(target.reservation)
            if not (self.fits(borrowing) and spare()):
                self.take(target.reservation)
                needed.append(target)
        return needed[::-1]


@dataclass(slots=True)
class Shortfall:
    """The amounts that have to be released before the preemptor can fit.

    A release makes at most the released amount available. So the preemptor cannot fit while an amount is missing.
    """

    missing: dict[FlavorResource, int]

    def release(self, usage: Usage) -> bool:
        """Count a release. Returns whether it may be enough now."""
        for pair in self.missing:
            self.missing[pair] -= usage.get(pair, 0)
        return all(amount <= 0 for amount in self.missing.values())

    def beyond(self, reservations: Iterable[Reservation]) -> bool:
        """Whether all these reservations together use less than the missing amounts."""
        left = dict(self.missing)
        for reservation in reservations:
            for pair in tuple(left):
                left[pair] -= reservation.usage.get(pair, 0)
                if left[pair] <= 0:
                    del left[pair]
            if not left:
                return False
        return bool(left)
