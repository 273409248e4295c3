"""What a search for victims works with: who asks for what, what is missing, and trying out on the tree itself.

A search removes usage from the tree within `QuotaTree.simulation`, so nothing of it stays.
Source: Kueue v0.19, pkg/scheduler/preemption/preemption.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import Precedence, eligible
from scheduling.preemption.targets import Target
from scheduling.quota.state import Queue, Reservation, State


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """`need` is all that the preemptor asks for, by pair; `short` are the pairs of it that do not fit as it is."""

    state: State
    preemptor: Workload
    queue: Queue
    need: Usage
    short: Set[FlavorResource]
    precedence: Precedence

    @property
    def compat(self) -> bool:
        return self.state.options.compat

    def eligible(self, queue: Queue, policy: str) -> Iterator[Reservation]:
        if queue.inactive:
            return iter(())
        return eligible(self.state, queue, policy, self.preemptor, self.short, self.precedence)

    def in_turn(self, *lists: Iterable[Reservation]) -> Iterator[Reservation]:
        """Each list in order, one list after the other, but what leaves already first of all."""
        ordered = [self.precedence.in_order(reservations, self.queue.name) for reservations in lists]
        return heapq.merge(*ordered, key=lambda reservation: not reservation.workload.evicted)

    def shortfall(self) -> Shortfall:
        node = self.queue.node
        missing = {pair: amount - node.available(pair) for pair, amount in self.need.items() if amount > 0}
        return Shortfall({pair: amount for pair, amount in missing.items() if amount > 0})

    def fits(self, borrowing: bool) -> bool:
        """Whether the preemptor fits by now. Without `borrowing` also within the nominal quota of its ClusterQueue.

        Then what is not short may be borrowed all the same: it is not what somebody is to give back. Kueue asks that
        nothing be borrowed at all (docs/adr/2026-11-21-reclaim-while-borrowing-something-else.md).
        """
        node = self.queue.node
        if any(amount > 0 and amount > node.available(pair) for pair, amount in self.need.items()):
            return False
        if borrowing:
            return True
        own = self.need if self.compat else self.short
        return not any(node.borrows(pair, self.need[pair]) for pair in own)

    def take(self, reservation: Reservation) -> None:
        self.state.tree.remove(reservation.queue.node, self._part_of(reservation))

    def give_back(self, reservation: Reservation) -> None:
        self.state.tree.add(reservation.queue.node, self._part_of(reservation))

    def _part_of(self, reservation: Reservation) -> Usage:
        """Shares depend on all that a workload has; else no more matters than what is asked for."""
        if self.state.options.fair_sharing:
            return reservation.usage
        return {pair: amount for pair, amount in reservation.usage.items() if pair in self.need}

    def minimal(self, targets: list[Target], borrowing: bool, spare: Callable[[], bool] = _always) -> list[Target]:
        """Those of the targets that must go, given that all of them do at present and the last one was needed.

        `spare`: whether, with the one in question back in the tree, it may stay as far as others are concerned.
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
    """How much has to be released before it is worth to look whether the preemptor fits.

    A release makes available what is released or less, so as long as something is missing here it cannot fit.
    """

    missing: dict[FlavorResource, int]

    def release(self, usage: Usage) -> bool:
        """Count a release; whether it may be enough now."""
        for pair in self.missing:
            self.missing[pair] -= usage.get(pair, 0)
        return all(amount <= 0 for amount in self.missing.values())

    def beyond(self, reservations: Iterable[Reservation]) -> bool:
        """Whether not even all of them together use what is missing."""
        left = dict(self.missing)
        for reservation in reservations:
            for pair in tuple(left):
                left[pair] -= reservation.usage.get(pair, 0)
                if left[pair] <= 0:
                    del left[pair]
            if not left:
                return False
        return bool(left)
