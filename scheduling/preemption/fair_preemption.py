"""Preemption by fair sharing: victims are in the queue with the highest weighted share, as long as that is fair.

Source: Kueue v0.19, pkg/scheduler/preemption (preemption.go, fairsharing); KEP-1714.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from policies.dialects.kueue_state import NEVER
from scheduling.preemption.search import Search, Shortfall
from scheduling.preemption.target_ordering import TargetOrdering
from scheduling.preemption.targets import PreemptionReason, PreemptionTarget
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Shares
from scheduling.quota.state import LESS_THAN_INITIAL_SHARE, ClusterQueueState, Reservation


def fair_targets(search: Search) -> list[PreemptionTarget]:
    """The targets in the order of the search; empty if preemption cannot help. The tree is not changed."""
    queues = _collect(search)
    shortfall = search.shortfall()
    if shortfall.beyond(candidate for queue in queues for candidate in search.eligible(queue)):
        return []
    tree = search.state.tree
    with search.state.simulation():
        tree.add(search.queue.node, search.need)
        fair = _FairSearch(search, shortfall)
        found = fair.targets({queue.node: search.in_turn(queue) for queue in queues})
        tree.remove(search.queue.node, search.need)
        return search.minimal(found, borrowing=True, spare=fair.stays_fair) if found else []


def _collect(search: Search) -> list[ClusterQueueState]:
    """The preemptor's own ClusterQueue, and all queues of its tree that borrow a pair which is short.

    Queues below a Cohort that does not borrow are left out.
    """
    if search.queue.settings.preemption.reclaim_within_cohort == NEVER:
        return [search.queue]
    borrowers = [node for node in _borrowers(search.queue.node) if any(node.borrows(pair) for pair in search.short)]
    return [search.queue, *(search.state.queues[node.name] for node in borrowers)]


def _borrowers(own: QuotaNode) -> Iterator[QuotaNode]:
    """Yield the ClusterQueues of the tree that borrow any pair, except `own`."""
    path = own.path()
    on_path = set(path)
    stack = path[1:]
    while stack:
        node = stack.pop()
        for child in {child: None for borrowers in node.borrowers.values() for child in borrowers}:
            if child in on_path:
                continue
            if child.is_queue:
                yield child
            else:
                stack.append(child)


class _Limit(NamedTuple):
    """The condition under which a victim was fair: `node` on the preemptor's path has a share of at most `rank`.

    strict: the share has to be less than `rank`.
    """

    node: QuotaNode
    rank: tuple[bool, Fraction]
    strict: bool


class _FairSearch:
    """A search, on a tree that already counts the preemptor's need, so that its share includes the need."""

    def __init__(self, search: Search, shortfall: Shortfall) -> None:
        self._search = search
        self._shortfall = shortfall
        self._shares = Shares()
        self._path = search.queue.node.path()
        self._places = {node: place for place, node in enumerate(self._path)}  # the index of each node on the path
        self._entitled = _entitled(search, self._path)  # see `_entitled`
        self._targets: list[PreemptionTarget] = []
        self._limits: list[_Limit] = []  # the conditions of victims that were chosen by shares

    def targets(self, candidates: Mapping[QuotaNode, Iterator[Reservation]]) -> list[PreemptionTarget]:
        """The workloads that were removed until the preemptor fits; empty if it never fits."""
        search = self._search
        first, *others = self._search.state.options.strategies
        retry: list[Reservation] = []
        if self._by_first(self._ordering(candidates), first, retry):
            return self._targets
        if others and self._by_second(self._ordering(search.precedence.by_queue(retry, search.queue.name))):
            return self._targets
        return []

    def stays_fair(self) -> bool:
        """Whether the victims that were chosen by shares are still fair, by the preemptor's current share.

        Victims in the preemptor's own queue or Cohort lowered its share. So they cannot always be spared, even if the
        others make enough room. Kueue spares them (docs/adr/2026-11-21-who-lowered-the-share-is-not-spared.md).
        """
        search = self._search
        if search.compat or not self._limits:
            return True
        tree = search.state.tree
        with tree.simulation():
            tree.add(self._path[0], search.need)
            ranks = {limit.node: self._rank(limit.node) for limit in self._limits}
        return all(
            ranks[limit.node] < limit.rank if limit.strict else ranks[limit.node] <= limit.rank
            for limit in self._limits
        )

    def _ordering(self, candidates: Mapping[QuotaNode, Iterator[Reservation]]) -> TargetOrdering:
        return TargetOrdering(self._path[0], candidates, self._shares, self._search.precedence)

    def _by_first(self, ordering: TargetOrdering, strategy: str, retry: list[Reservation]) -> bool:
        while (node := ordering.pick()) is not None:
            reason = self._reason(node)
            if reason is not None:
                if self._take(ordering.pop(node), reason):
                    return True
            elif self._by_shares(ordering, node, strategy, retry):
                return True
        return False

    def _by_second(self, ordering: TargetOrdering) -> bool:
        """Take one candidate of each ClusterQueue with a higher share than the preemptor, even if that lowers its
        share.
        """
        while (node := ordering.pick()) is not None:
            mine, theirs = self._almost_lcas(node)
            before = self._rank(theirs)
            if self._rank(mine) >= before:
                ordering.drop(node)
                continue
            self._limits.append(_Limit(mine, before, strict=True))
            if self._take(ordering.pop(node), PreemptionReason.IN_COHORT_FAIR_SHARING):
                return True
            ordering.drop(node)
        return False

    def _reason(self, node: QuotaNode) -> PreemptionReason | None:
        """The reason to preempt without comparing shares: the own ClusterQueue, or lent quota; else None."""
        if node is self._path[0]:
            return PreemptionReason.IN_CLUSTER_QUEUE
        mine, _ = self._almost_lcas(node)
        if self._entitled is not None and self._entitled <= self._places[mine]:
            return PreemptionReason.IN_COHORT_RECLAMATION
        return None

    def _by_shares(self, ordering: TargetOrdering, node: QuotaNode, strategy: str, retry: list[Reservation]) -> bool:
        """Take the first candidate of the ClusterQueue that the strategy allows.

        Candidates before it are retried later.
        """
        mine, theirs = self._almost_lcas(node)
        share, before = self._rank(mine), self._rank(theirs)
        initial = strategy == LESS_THAN_INITIAL_SHARE
        if not (share < before if initial else share <= before):  # a preemption never raises their share
            retry += ordering.drop(node)
            return False
        while ordering.has_more(node):
            victim = ordering.pop(node)
            self._search.take(victim)
            limit = before if initial else self._rank(theirs)
            if initial or share <= limit:
                self._limits.append(_Limit(mine, limit, strict=initial))
                return self._add_target(victim, PreemptionReason.IN_COHORT_FAIR_SHARING)
            self._search.give_back(victim)
            retry.append(victim)
        return False

    def _take(self, victim: Reservation, reason: PreemptionReason) -> bool:
        """Remove the workload. Returns whether the preemptor fits now."""
        self._search.take(victim)
        return self._add_target(victim, reason)

    def _add_target(self, victim: Reservation, reason: PreemptionReason) -> bool:
        self._targets.append(PreemptionTarget(victim, reason))
        if not self._shortfall.release(victim.usage):
            return False
        tree = self._search.state.tree
        with tree.simulation():
            tree.remove(self._path[0], self._search.need)
            return self._search.fits(borrowing=True)

    def _almost_lcas(self, node: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        """The two children of the lowest common Cohort: the one on the preemptor's path, and the one on the path of
        `node`.

        Kueue calls them the "almost" lowest common ancestors.
        """
        while node.up is not None and node.up not in self._places:
            node = node.up
        assert node.up is not None, "candidates are of the preemptor's tree"
        return self._path[self._places[node.up] - 1], node

    def _rank(self, node: QuotaNode) -> tuple[bool, Fraction]:
        return self._shares.of(node).rank


def _entitled(search: Search, path: list[QuotaNode]) -> int | None:
    """The index on the path of the lowest node that, with the need, stays within its own quota of all short pairs.

    From this node upward the preemptor reclaims lent quota without comparing shares. Kueue checks only the ClusterQueue
    (docs/adr/2026-11-21-a-cohort-within-its-quota-reclaims.md).
    """
    options = search.state.options
    if not options.nominal_first:
        return None
    for place, node in enumerate(path[:1] if options.compat else path):
        if not any(node.borrows(pair) for pair in search.short):
            return place
    return None
