"""The search for victims once more, as plainly as it can be said: every queue is asked, everything is worked out anew.

Slow, and made from the same specification; the tests hold the real search against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.workload import Workload
from scheduling.preemption.candidates import CandidatePrecedence, order_key
from scheduling.quota.node import QuotaNode, stored_below
from scheduling.quota.shares import Shares
from scheduling.quota.state import LESS_THAN_INITIAL_SHARE, ClusterQueueState, QuotaState, Reservation

_Found = list[tuple[Reservation, str]]


def least_common_ancestor(node: QuotaNode, other: QuotaNode) -> QuotaNode | None:
    """The lowest node above both; None if they are in different trees."""
    mine = set(node.path())
    return next((cohort for cohort in other.path() if cohort in mine), None)


class Plain:
    def __init__(
        self, state: QuotaState, preemptor: Workload, queue: ClusterQueueState, need: Usage, short: set[FlavorResource]
    ) -> None:
        self.state, self.preemptor, self.queue = state, preemptor, queue
        self.need, self.short = need, short
        self.node = queue.node
        self.compat = state.options.compat
        self.because: list[tuple[QuotaNode, tuple[bool, Fraction], bool]] = []

    def targets(self) -> dict[str, str]:
        with self.state.tree.simulation():
            found = self.fair() if self.state.options.fair_sharing else self.classic()
        return {victim.key: reason for victim, reason in found}

    # --- both

    def candidates(self) -> list[Reservation]:
        policy, found = self.queue.settings.preemption, []
        for node in filter(lambda each: each.is_queue, stored_below(self.node.root)):
            queue = self.state.queues[node.name]
            own = queue is self.queue
            if queue.inactive or not (own or self.over(node)):
                continue
            allowed = policy.within_cluster_queue if own else policy.reclaim_within_cohort
            for each in queue.reservations.values():
                uses = any(each.usage.get(pair, 0) > 0 for pair in self.short)
                if uses and CandidatePrecedence().allows(allowed, self.preemptor, each.workload):
                    found.append(each)
        return sorted(found, key=self.order)

    def order(self, each: Reservation) -> tuple[object, ...]:
        return order_key(each, self.queue.name)

    def over(self, node: QuotaNode) -> bool:
        return any(node.used(pair) > node.quota(pair) for pair in self.short)

    def between(self, victim: Reservation) -> list[QuotaNode]:
        """From the victim's ClusterQueue up to below what it has in common with the preemptor."""
        common = least_common_ancestor(self.node, victim.queue.node)
        path = victim.queue.node.path()
        return path[: path.index(common)] if common is not None else path

    def remove(self, victim: Reservation) -> None:
        self.state.tree.remove(victim.queue.node, victim.usage)

    def fits(self, borrowing: bool) -> bool:
        own = self.need if self.compat else self.short
        return all(amount <= self.node.free(pair) for pair, amount in self.need.items()) and (
            borrowing or all(self.node.used(pair) + self.need[pair] <= self.node.nominal(pair) for pair in own)
        )

    def minimal(self, found: _Found, borrowing: bool) -> _Found:
        kept = list(found)
        for entry in reversed(found[:-1]):
            self.state.tree.add(entry[0].queue.node, entry[0].usage)
            if self.fits(borrowing) and self.stays_fair():
                kept.remove(entry)
            else:
                self.remove(entry[0])
        return kept

    # --- by quota

    def classic(self) -> _Found:
        everybody = [each for each in self.candidates() if self.reachable(each)]
        own = [each for each in everybody if each.queue is self.queue]
        by_quota = [each for each in everybody if each.queue is not self.queue and self.entitled(each)]
        others = [each for each in everybody if each not in own and each not in by_quota]
        lists = (by_quota, others, own)
        turn = [each for leaving in (True, False) for each in _all(lists) if each.workload.evicted is leaving]
        for borrowing in self.runs(bool(by_quota or others), bool(by_quota)):
            found: _Found = []
            with self.state.tree.simulation():
                for each in turn:
                    reason = self.claim(each, each in by_quota, borrowing)
                    if not reason:
                        continue
                    self.remove(each)
                    found.append((each, reason))
                    if self.fits(borrowing):
                        return self.minimal(found, borrowing)
        return []

    def reachable(self, victim: Reservation) -> bool:
        return victim.queue is self.queue or all(self.over(node) for node in self.between(victim))

    def entitled(self, victim: Reservation) -> bool:
        """Some node of ours, below what we have in common, holds what is asked for."""
        common = least_common_ancestor(self.node, victim.queue.node)
        rest = dict(self.need)
        for node in self.node.path():
            if node is common:
                return False
            asked = {pair: amount for pair, amount in rest.items() if amount or self.compat}
            if all(node.used(pair) + amount <= node.quota(pair) for pair, amount in asked.items()):
                return True
            rest = {pair: max(0, amount - node.local_free(pair)) for pair, amount in rest.items()}
        return False

    def runs(self, others: bool, by_quota: bool) -> list[bool]:
        never = self.queue.settings.preemption.borrow_within_cohort == "Never"
        under = all(self.node.used(pair) < self.node.nominal(pair) for pair in self.short)
        if not others or (never and not under):
            return [True]
        return [False, True] if never and not by_quota else [True, False]

    def claim(self, victim: Reservation, by_quota: bool, borrowing: bool) -> str:
        if victim.queue is self.queue:
            return "InClusterQueue"
        policy, priority = self.queue.settings.preemption, victim.workload.priority
        low = priority < self.preemptor.priority and (policy.threshold is None or priority <= policy.threshold)
        in_its_place = not by_quota and policy.borrow_within_cohort != "Never" and low
        if borrowing and not by_quota and not in_its_place:
            return ""
        if not all(self.over(node) for node in self.between(victim)):
            return ""
        return "InCohortReclaimWhileBorrowing" if in_its_place else "InCohortReclamation"

    # --- by shares

    def fair(self) -> _Found:
        candidates = self.candidates()
        self.state.tree.add(self.node, self.need)
        path = self.node.path()
        asked = path if self.state.options.nominal_first else []
        entitled = [node for node in (asked[:1] if self.compat else asked) if not self.over(node)]
        found: _Found = []
        retry: list[Reservation] = []
        strategies = self.state.options.strategies
        done = self.first(candidates, entitled, strategies[0], found, retry)
        if not done and len(strategies) > 1:
            done = self.second(retry, found)
        self.state.tree.remove(self.node, self.need)
        return self.minimal(found, borrowing=True) if done else []

    def first(
        self,
        left: list[Reservation],
        entitled: list[QuotaNode],
        strategy: str,
        found: _Found,
        retry: list[Reservation],
    ) -> bool:
        pruned: set[QuotaNode] = set()
        while (node := self.next(left, pruned)) is not None:
            here = [each for each in left if each.queue.node is node]
            mine, theirs = self.sides(node)
            if node is self.node:
                reason = "InClusterQueue"
            elif any(each in entitled for each in self.node.path()[: self.node.path().index(mine) + 1]):
                reason = "InCohortReclamation"
            else:
                reason = ""
            share, before = Shares().of(mine).rank, Shares().of(theirs).rank
            for each in here:
                left.remove(each)
                with self.state.tree.simulation():
                    self.remove(each)
                    after = Shares().of(theirs).rank
                initial = strategy == LESS_THAN_INITIAL_SHARE
                if reason or (share < before if initial else share <= after):
                    if not reason:
                        self.because.append((mine, before if initial else after, initial))
                    found.append((each, reason or "InCohortFairSharing"))
                    self.remove(each)
                    if self.fits_besides():
                        return True
                    break
                retry.append(each)
        return False

    def second(self, retry: list[Reservation], found: _Found) -> bool:
        left, pruned = sorted(retry, key=self.order), set[QuotaNode]()
        while (node := self.next(left, pruned)) is not None:
            first = next(each for each in left if each.queue.node is node)
            mine, theirs = self.sides(node)
            if Shares().of(mine).rank < Shares().of(theirs).rank:
                self.because.append((mine, Shares().of(theirs).rank, True))
                found.append((first, "InCohortFairSharing"))
                self.remove(first)
                if self.fits_besides():
                    return True
            left = [each for each in left if each.queue.node is not node]
        return False

    def stays_fair(self) -> bool:
        with self.state.tree.simulation():
            self.state.tree.add(self.node, self.need)
            now = [(Shares().of(node).rank, limit, strict) for node, limit, strict in self.because]
        return self.compat or all(rank < limit or (rank == limit and not strict) for rank, limit, strict in now)

    def fits_besides(self) -> bool:
        with self.state.tree.simulation():
            self.state.tree.remove(self.node, self.need)
            return self.fits(borrowing=True)

    def sides(self, node: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        common = least_common_ancestor(self.node, node)
        mine, theirs = self.node.path(), node.path()
        if common is None or node is self.node:
            return self.node, node
        return mine[mine.index(common) - 1], theirs[theirs.index(common) - 1]

    def next(self, left: list[Reservation], pruned: set[QuotaNode]) -> QuotaNode | None:
        root = self.node.root
        if root is self.node:
            return root if left else None
        while root not in pruned:
            here: QuotaNode | None = root
            while here is not None and not here.is_queue:
                child = self.highest(here, left, pruned)
                if child is None:
                    pruned.add(here)
                here = child
            if here is not None:
                return here
        return None

    def highest(self, cohort: QuotaNode, left: list[Reservation], pruned: set[QuotaNode]) -> QuotaNode | None:
        best: tuple[tuple[object, ...], QuotaNode] | None = None
        for child in (*cohort.queues.values(), *cohort.cohorts.values()):
            share = Shares().of(child)
            firsts = [each for each in left if each.queue.node is child]
            if child in pruned or (child.is_queue and not firsts):
                continue
            if not share.borrowing and child not in self.node.path():
                continue
            infinite, ratio = share.rank
            tie = self.order(firsts[0]) if child.is_queue else (child.name,)
            key = (not infinite, -ratio, child.is_queue, *tie)
            if best is None or key < best[0]:
                best = key, child
        return best[1] if best is not None else None


def _all(lists: Iterable[list[Reservation]]) -> list[Reservation]:
    return [each for listed in lists for each in listed]
