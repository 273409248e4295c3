"""Why a workload waits, as data: from the last cycle that tried it, not from a second calculation.

For each flavor that was tried and each resource that it is short of: the node of the tree that blocks the request, its
limit, the missing amount, and the workloads that use it. `scheduling.flavors.messages` says the same in Kueue's words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TypeAlias

from policies.model.pools import UNLIMITED
from scheduling.flavors.places import placer
from scheduling.flavors.reasons import BeyondMaximum, NoPlace, Reason, Short
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.copying import replace
from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    PENDING_EVALUATION,
    SUSPENDED,
    TOPOLOGY_PLACEMENT_FAILED,
)
from scheduling.objects.workload import Workload
from scheduling.queues.pending import PendingEntry
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState
from scheduling.topology.workload_places import TopologyShortage
from scheduling.visibility.raising import BORROWING_LIMIT, NOMINAL_QUOTA, Lenders, Raise, raises
from scheduling.visibility.remedy import SoleRaise, sole_raise
from scheduling.world.decisions import Wait
from scheduling.world.world import World

Consider: TypeAlias = Callable[[World, str, PendingEntry | None], Wait | None]
"""An attempt at an entry of the ClusterQueue with that name; see `try_alone`."""
_MOST_HOLDERS = 5
_USUAL_DEPTH = 32
"""Levels of a tree. Nodes on the workload's own path withhold nothing from it, so that many more are collected."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The node that blocks a request of one pair; `lacking` more is needed at its `limit`.

    NOMINAL_QUOTA: the whole tree has no more free; it takes more quota somewhere in it, or workloads that leave.
    BORROWING_LIMIT: the tree has more, but the node's own limit blocks its subtree.
    """

    node: str
    is_queue: bool
    limit: str
    lacking: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A ClusterQueue that uses a pair that the tree is short of, and how much of that it borrows."""

    queue: str
    used: int
    borrowed: int


@dataclass(frozen=True, slots=True)
class QuotaHolders:
    """The queues that use a pair: a handful, those that borrow most `first`; how many `others`, with their sums."""

    first: tuple[Holder, ...] = ()
    others: int = 0
    used: int = 0
    borrowed: int = 0


@dataclass(frozen=True, slots=True)
class KeptBack:
    """A node whose lendingLimit withholds `amount` of unused quota from the rest of the tree."""

    node: str
    is_queue: bool
    amount: int


@dataclass(frozen=True, slots=True)
class FlavorLack:
    """What one flavor is short of. `ever` False: it would not fit even if nothing were in use.

    `kept` is what lendingLimits withhold if the whole tree is short: a handful of nodes, the largest amounts first.
    `raises`: where a limit could be raised so that it fits.
    """

    pod_set: str
    pair: FlavorResource
    wanted: int
    free: int
    ever: bool
    obstacle: Obstacle | None
    holders: QuotaHolders = QuotaHolders()
    kept: tuple[KeptBack, ...] = ()
    raises: tuple[Raise, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """`reason` and `message` are those of the condition QuotaReserved. `position` counts from 1, None if it is in no
    ClusterQueue. `inadmissible`: it is not tried until something changes. `others`: reasons not related to quota.
    `shortages`: the domains of topologies that are short. `remedy`: the one quota that would be enough.
    """

    workload: str
    queue: str
    reason: str
    message: str
    position: int | None = None
    inadmissible: bool = False
    victims: tuple[str, ...] = ()
    lacks: tuple[FlavorLack, ...] = ()
    others: tuple[Reason, ...] = field(default=())
    shortages: tuple[TopologyShortage, ...] = ()
    remedy: SoleRaise | None = None


class TreeCache:
    """Results about whole trees, shared by explanations between which nothing changes."""

    raised = True
    """Whether explanations have the limits that could be raised."""

    def __init__(self) -> None:
        self._holders: dict[tuple[QuotaNode, FlavorResource], QuotaHolders] = {}
        self._kept: dict[tuple[QuotaNode, FlavorResource, bool, int], list[tuple[QuotaNode, int]]] = {}
        self._short: dict[int, tuple[Wait, tuple[TopologyShortage, ...]]] = {}
        self._lenders = Lenders()

    def holders(self, node: QuotaNode, pair: FlavorResource) -> QuotaHolders:
        at = (node.root, pair)
        if at not in self._holders:
            self._holders[at] = holders_of(node, pair)
        return self._holders[at]

    def raises(self, node: QuotaNode, pair: FlavorResource, wanted: int, *, ever: bool = False) -> tuple[Raise, ...]:
        return raises(node, pair, wanted, self._lenders, ever=ever) if self.raised else ()

    def shortages(self, world: World, workload: Workload, wait: Wait) -> tuple[TopologyShortage, ...]:
        """The domains that are short. Workloads that ask for the same share their Wait."""
        if id(wait) not in self._short:
            self._short[id(wait)] = wait, shortages(world, workload, wait)
        return self._short[id(wait)][1]

    def kept(self, node: QuotaNode, pair: FlavorResource, *, ever: bool = False) -> tuple[KeptBack, ...]:
        """The nodes that withhold quota from this one; `ever`: as if nothing were in use."""
        path = set(node.path())
        most = _MOST_HOLDERS + max(len(path), _USUAL_DEPTH)
        at = (node.root, pair, ever, most)
        if at not in self._kept:
            self._kept[at] = _keepers(node.root, pair, ever, most)
        others = [(each, amount) for each, amount in self._kept[at] if each not in path]
        return tuple(KeptBack(each.name, each.is_queue, amount) for each, amount in others[:_MOST_HOLDERS])


def explain(
    world: World,
    key: str,
    position: int | None = None,
    trees: TreeCache | None = None,
    *,
    consider: Consider | None = None,
) -> Explanation | None:
    """Why the workload waits; None if it holds quota, is finished, or is unknown.

    `position`: its position in the ClusterQueue, if known; else it is looked up. `trees` serves several explanations
    while nothing changes. `consider`: tries it now if no cycle has; that is how a world without cycles explains.
    """
    workload = world.workloads.get(key)
    if workload is None or key in world.state.reservations or not workload.queueable:
        return None
    blocker = world.queues.blocker(workload)
    if blocker is not None:
        return Explanation(key, "", blocker.reason, blocker.message)
    if world.gated(workload):
        return Explanation(key, "", ADMISSION_GATED, f"Admission is gated by: {workload.gated_by}")
    name = world.queues.queue_of(workload) or ""
    queue = world.state.queues[name]
    pending = world.queues.pending[name]
    if position is None:
        position = pending.positions().position(key)
    if queue.inactive:
        return Explanation(key, name, SUSPENDED, inactive_message(queue), position)
    wait = world.last_attempt(key)
    if wait is None and consider is not None:
        wait = consider(world, name, pending.get(key))
    if wait is None:
        return Explanation(key, name, PENDING_EVALUATION, "It waits for its turn", position)
    trees = trees or TreeCache()
    found = _of_wait(queue, key, wait, position, trees, inadmissible=not pending.is_active(key))
    remedy = sole_raise(world.state, queue, wait) if trees.raised else None
    return replace(found, shortages=trees.shortages(world, workload, wait), remedy=remedy)


def shortages(world: World, workload: Workload, wait: Wait) -> tuple[TopologyShortage, ...]:
    """The domains of topologies that are short now, if the workload waits for places and nobody leaves for it."""
    assignment = wait.assignment
    if world.state.fleet is None or assignment is None or wait.victims or workload.elastic:
        return ()
    reasons = (reason for pod_set in assignment.pod_sets for reason in pod_set.reasons)
    if wait.reason != TOPOLOGY_PLACEMENT_FAILED and not any(isinstance(reason, NoPlace) for reason in reasons):
        return ()
    complete = world.entry(workload).workload
    found = placer(world.state, world.state.queues[wait.queue].settings, complete, world.checks)
    return tuple(found.shortages(assignment)) if found is not None else ()


def inactive_message(queue: ClusterQueueState) -> str:
    """Why the ClusterQueue tries no workload; empty if it does."""
    return f"ClusterQueue {queue.name} is inactive: {queue.inactive}" if queue.inactive else ""


def _of_wait(
    queue: ClusterQueueState, key: str, wait: Wait, position: int, trees: TreeCache, *, inadmissible: bool
) -> Explanation:
    lacks: list[FlavorLack] = []
    others: list[Reason] = []
    for pod_set in wait.assignment.pod_sets if wait.assignment else ():
        for reason in pod_set.reasons:
            lack = _lack(queue.node, pod_set.name, reason, trees)
            if lack is not None:
                lacks.append(lack)
            else:
                others.append(reason)
    return Explanation(
        workload=key,
        queue=queue.name,
        reason=wait.reason,
        message=wait.message,
        position=position,
        inadmissible=inadmissible,
        victims=tuple(target.key for target in wait.victims),
        lacks=tuple(lacks),
        others=tuple(others),
    )


def _lack(node: QuotaNode, pod_set: str, reason: Reason, trees: TreeCache) -> FlavorLack | None:
    if isinstance(reason, Short):
        found = obstacle(node, reason.pair, reason.wanted)
        holders = _seen_from(node, reason.pair, trees.holders(node, reason.pair))
        kept = trees.kept(node, reason.pair) if found is not None and found.limit == NOMINAL_QUOTA else ()
        places = trees.raises(node, reason.pair, reason.wanted)
        return FlavorLack(pod_set, reason.pair, reason.wanted, reason.free, True, found, holders, kept, places)
    if isinstance(reason, BeyondMaximum):
        wanted = reason.earlier + reason.requested
        limit = limit_of(node, reason.pair, wanted)
        kept = trees.kept(node, reason.pair, ever=True) if limit is not None and limit.limit == NOMINAL_QUOTA else ()
        places = trees.raises(node, reason.pair, wanted, ever=True)
        return FlavorLack(pod_set, reason.pair, wanted, reason.maximum, False, limit, QuotaHolders(), kept, places)
    return None


def obstacle(node: QuotaNode, pair: FlavorResource, wanted: int) -> Obstacle | None:
    """The node that blocks a request for `wanted` more of the pair; None if it fits now."""
    path = node.path()
    room = {each: _room_above(path, at, pair) for at, each in enumerate(path)}
    rest = wanted
    for each in path[:-1]:
        rest -= each.local_free(pair)
        if rest <= 0:
            return None
        own = each.room(pair)
        if own < rest and own <= room[each]:
            return Obstacle(each.name, each.is_queue, BORROWING_LIMIT, rest - own)
    root = path[-1]
    lacking = rest - (root.quota(pair) - root.used(pair))
    return Obstacle(root.name, root.is_queue, NOMINAL_QUOTA, lacking) if lacking > 0 else None


def _room_above(path: list[QuotaNode], at: int, pair: FlavorResource) -> int:
    return path[at + 1].available(pair) if at + 1 < len(path) else UNLIMITED


def limit_of(node: QuotaNode, pair: FlavorResource, wanted: int) -> Obstacle | None:
    """The node whose limits keep `wanted` from ever fitting, even if nothing were in use."""
    path = node.path()
    rest = wanted
    for each in path[:-1]:
        terms = each.terms.get(pair)
        rest -= each.local.get(pair, 0)
        if terms is not None and terms.borrowing is not None:
            reach = each.lent(pair) + terms.borrowing
            above = path[path.index(each) + 1].potential(pair)
            if reach < rest and reach <= above:
                return Obstacle(each.name, each.is_queue, BORROWING_LIMIT, rest - reach)
    root = path[-1]
    lacking = rest - root.quota(pair)
    return Obstacle(root.name, root.is_queue, NOMINAL_QUOTA, lacking) if lacking > 0 else None


def holders_of(node: QuotaNode, pair: FlavorResource) -> QuotaHolders:
    """The queues that use the pair in the node's tree."""
    every = list(_holders(node.root, pair))
    first = tuple(Holder(queue, -used, -borrowed) for borrowed, used, queue in nsmallest(_MOST_HOLDERS, every))
    used = -sum(each for _, each, _ in every) - sum(each.used for each in first)
    borrowed = -sum(each for each, *_ in every) - sum(each.borrowed for each in first)
    return QuotaHolders(first, len(every) - len(first), used, borrowed)


def _seen_from(node: QuotaNode, pair: FlavorResource, found: QuotaHolders) -> QuotaHolders:
    """The same with the queue itself among the first, if it holds any: its users may read no other."""
    used = node.usage.get(pair, 0)
    if used <= 0 or not found.others or any(each.queue == node.name for each in found.first):
        return found
    own = Holder(node.name, used, max(0, used - node.nominal(pair)))
    rest = (found.others - 1, found.used - used, found.borrowed - own.borrowed)
    return QuotaHolders((*found.first, own), *rest)


def _holders(root: QuotaNode, pair: FlavorResource) -> Iterator[tuple[int, int, str]]:
    """Sort keys, the largest borrowers first. There may be ten thousand queues, so plain tuples are enough."""
    stack = [root]
    while stack:
        here = stack.pop()
        stack.extend(cohort for cohort in here.cohorts.values() if cohort.used(pair) > 0 or cohort.local.get(pair))
        for queue in here.queues.values() if not here.is_queue else (here,):
            used = queue.usage.get(pair, 0)
            if used > 0:
                yield -max(0, used - queue.nominal(pair)), -used, queue.name


def _keepers(root: QuotaNode, pair: FlavorResource, ever: bool, most: int) -> list[tuple[QuotaNode, int]]:
    """The `most` nodes that withhold the largest amounts of the pair, with these amounts."""
    found, stack = [], [root]
    while stack:
        here = stack.pop()
        stack.extend(here.cohorts.values())
        for each in (here, *here.queues.values()):
            if each.local.get(pair, 0) > 0:
                amount = each.local[pair] if ever else each.local_free(pair)
                if amount > 0:
                    found.append((-amount, each.name, each.is_queue, each))
    return [(each, -amount) for amount, _, _, each in nsmallest(most, found, key=lambda kept: kept[:3])]
