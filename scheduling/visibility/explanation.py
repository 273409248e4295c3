"""Why a workload waits, as data. The reasons come from the last cycle that tried it, not from a second search.

The amounts are those of now, since others may have got quota since then. For each tried flavor and each resource that
was short, it has the node of the tree that blocks the request, the limit, the missing amount, and the queues that use
the quota. `scheduling.flavors.messages` has Kueue's words for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import TypeAlias

from scheduling.flavors.assigner import assign
from scheduling.flavors.modes import FlavorOutcome
from scheduling.flavors.places import placer
from scheduling.flavors.reasons import BeyondMaximum, NoPlace, Reason, Short
from scheduling.flavors.scan_progress import Progress, progress_of
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.copying import replace
from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    EXCEEDS_MAX_QUOTA,
    MISCONFIGURED,
    NO_MATCHING_FLAVOR,
    PENDING_EVALUATION,
    SUSPENDED,
    TOPOLOGY_PLACEMENT_FAILED,
)
from scheduling.objects.requests import PodSetRequests, total_requests
from scheduling.objects.workload import Workload
from scheduling.queues.pending import PendingEntry
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState, QuotaState
from scheduling.topology.workload_places import TopologyShortage
from scheduling.visibility.raising import BORROWING_LIMIT, NOMINAL_QUOTA, USUAL_DEPTH, FreePath, Lenders, Raise, raises
from scheduling.visibility.remedy import SoleRaise, sole_raise
from scheduling.world.decisions import Wait
from scheduling.world.world import World

Consider: TypeAlias = Callable[[World, str, PendingEntry | None], Wait | None]
"""A function that tries a workload of the named ClusterQueue; see `try_alone`."""
_MOST_HOLDERS = 5
_STUCK = (EXCEEDS_MAX_QUOTA, MISCONFIGURED, NO_MATCHING_FLAVOR)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The node that blocks a request for a pair.

    lacking: the missing amount.
    limit: NOMINAL_QUOTA if the whole tree has too little free quota. Then it needs more quota, or workloads have to
        end. BORROWING_LIMIT if the tree has enough, but the limit of the node blocks its subtree.
    """

    node: str
    is_queue: bool
    limit: str
    lacking: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A ClusterQueue that uses a pair which is short. `borrowed`: the part of `used` beyond its own quota."""

    queue: str
    used: int
    borrowed: int


@dataclass(frozen=True, slots=True)
class QuotaHolders:
    """The queues that use a pair.

    first: a few of them, the largest borrowers first.
    others, used, borrowed: the number of the other queues, and their sums.
    """

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
    """A pair of which a flavor has too little.

    wanted: the requested amount. free: the free amount.
    ever: whether the request would fit if nothing were in use.
    obstacle: the node that blocks it.
    holders: the queues that use the pair.
    kept: a few nodes whose lendingLimits withhold quota, the largest amounts first, if the whole tree is short.
    raises: the limits of which one could be raised so that the request fits.
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
    """Why a workload waits.

    reason, message: of its condition QuotaReserved.
    position: its position in the ClusterQueue, from 1; None if it is in no ClusterQueue.
    inadmissible: it is not tried until something changes.
    victims: the workloads that are preempted for it.
    lacks: the pairs that are short.
    others: reasons other than quota.
    shortages: the topology domains that are short.
    remedy: a single quota that would suffice if it were raised.
    stuck: waiting does not help.
    """

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
    stuck: bool = False


class TreeCache:
    """Caches results about whole trees, for several explanations while nothing changes."""

    raised = True
    """Whether explanations list the limits that could be raised."""

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

    def raises(self, node: QuotaNode, pair: FlavorResource, wanted: int, *, idle: bool = False) -> tuple[Raise, ...]:
        return raises(node, pair, wanted, self._lenders, idle=idle) if self.raised else ()

    def shortages(self, world: World, workload: Workload, wait: Wait) -> tuple[TopologyShortage, ...]:
        """The domains that are short. They are cached by Wait, which workloads with equal requests share."""
        if id(wait) not in self._short:
            self._short[id(wait)] = wait, shortages(world, workload, wait)
        return self._short[id(wait)][1]

    def kept(self, node: QuotaNode, pair: FlavorResource, *, idle: bool = False) -> tuple[KeptBack, ...]:
        """The nodes that withhold quota from this one. `idle`: computed as if nothing were in use."""
        path = set(node.path())
        most = _MOST_HOLDERS + max(len(path), USUAL_DEPTH)
        at = (node.root, pair, idle, most)
        if at not in self._kept:
            self._kept[at] = _keepers(node.root, pair, idle, most)
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
    """Why the workload waits; None if it holds quota, is finished or deactivated, or is unknown.

    position: its position in the ClusterQueue, if the caller knows it.
    trees: a cache for several explanations while nothing changes.
    consider: tries the workload now if no cycle has tried it, for a world without cycles.
    """
    workload = world.workloads.get(key)
    if workload is None or key in world.state.reservations or not workload.queueable:
        return None
    blocker = world.queues.blocker(workload)
    if blocker is not None:
        return Explanation("", blocker.reason, blocker.message)
    if world.gated(workload):
        return Explanation("", ADMISSION_GATED, f"Admission is gated by: {workload.gated_by}")
    name = world.queues.queue_of(workload) or ""
    queue = world.state.queues[name]
    pending = world.queues.pending[name]
    if position is None:
        position = pending.positions().position(key)
    if queue.inactive:
        return Explanation(name, SUSPENDED, inactive_message(queue), position)
    wait = world.last_attempt(key)
    if wait is None and consider is not None:
        wait = consider(world, name, pending.get(key))
    if wait is None:
        return Explanation(name, PENDING_EVALUATION, "It waits for its turn", position)
    trees = trees or TreeCache()
    together = _fits_together(world, queue, workload, wait)
    found = _of_wait(queue, wait, position, trees, inadmissible=not pending.is_active(key), together=together)
    remedy = sole_raise(world.state, queue, wait) if trees.raised else None
    return replace(found, shortages=trees.shortages(world, workload, wait), remedy=remedy)


def shortages(world: World, workload: Workload, wait: Wait) -> tuple[TopologyShortage, ...]:
    """The topology domains that are short now, if the workload waits for places and has no victims."""
    assignment = wait.assignment
    if world.state.fleet is None or assignment is None or wait.victims or workload.elastic:
        return ()
    reasons = (reason for pod_set in assignment.pod_sets for reason in pod_set.reasons)
    if wait.reason != TOPOLOGY_PLACEMENT_FAILED and not any(isinstance(reason, NoPlace) for reason in reasons):
        return ()
    complete = world.entry(workload).workload
    found = placer(world.state, world.state.queues[wait.queue].settings, complete, world.checks)
    return tuple(found.shortages(assignment)) if found is not None else ()


def _fits_together(world: World, queue: ClusterQueueState, workload: Workload, wait: Wait) -> bool:
    """Whether a pod set is only beyond the maximum because earlier pod sets were tried with the same flavor.

    They would get other flavors if nothing were in use.
    """
    pod_sets = wait.assignment.pod_sets if wait.assignment else ()
    reasons = (reason for pod_set in pod_sets for reason in pod_set.reasons)
    if not any(isinstance(reason, BeyondMaximum) and reason.earlier for reason in reasons):
        return False
    complete = world.entry(workload).workload
    return fits_idle(world.state, queue, complete, total_requests(complete, world.counting))


def inactive_message(queue: ClusterQueueState) -> str:
    """Why the ClusterQueue tries no workloads; empty if it is active."""
    return f"ClusterQueue {queue.name} is inactive: {queue.inactive}" if queue.inactive else ""


def _of_wait(
    queue: ClusterQueueState, wait: Wait, position: int, trees: TreeCache, *, inadmissible: bool, together: bool
) -> Explanation:
    lacks: list[FlavorLack] = []
    others: list[Reason] = []
    for pod_set in wait.assignment.pod_sets if wait.assignment else ():
        for reason in pod_set.reasons:
            if together and isinstance(reason, BeyondMaximum) and reason.requested <= reason.maximum:
                reason = Short(reason.pair, reason.requested, reason.maximum)
            lack = _lack(queue.node, pod_set.name, reason, trees)
            if lack is not None:
                lacks.append(lack)
            else:
                others.append(reason)
    return Explanation(
        queue=queue.name,
        reason=wait.reason,
        message=wait.message,
        position=position,
        inadmissible=inadmissible,
        victims=tuple(target.key for target in wait.victims),
        lacks=tuple(lacks),
        others=tuple(others),
        stuck=wait.reason in _STUCK and not together,
    )


def _lack(node: QuotaNode, pod_set: str, reason: Reason, trees: TreeCache) -> FlavorLack | None:
    if isinstance(reason, Short):
        idle, wanted, free = False, reason.wanted, min(reason.free, node.free(reason.pair))
        holders = _with_own_queue(node, reason.pair, trees.holders(node, reason.pair))
    elif isinstance(reason, BeyondMaximum):
        idle, wanted, free = True, reason.earlier + reason.requested, reason.maximum
        holders = QuotaHolders()
    else:
        return None
    found = _obstacle(node, reason.pair, wanted, idle=idle)
    kept = trees.kept(node, reason.pair, idle=idle) if found is not None and found.limit == NOMINAL_QUOTA else ()
    places = trees.raises(node, reason.pair, wanted, idle=idle)
    return FlavorLack(pod_set, reason.pair, wanted, free, not idle, found, holders, kept, places)


def _obstacle(node: QuotaNode, pair: FlavorResource, wanted: int, *, idle: bool) -> Obstacle | None:
    """The node that blocks a request for `wanted` more of the pair; None if it fits now.

    idle: computed as if nothing were in use.
    """
    path, rest = node.path(), wanted
    way = FreePath.of(path, pair, idle)
    for at, (each, local, room) in enumerate(zip(path[:-1], way.local, way.room, strict=True), start=1):
        rest -= local
        if rest <= 0:
            return None
        if room < rest and room <= FreePath.of(path[at:], pair, idle).reach():
            return Obstacle(each.name, each.is_queue, BORROWING_LIMIT, rest - room)
    return Obstacle(path[-1].name, path[-1].is_queue, NOMINAL_QUOTA, rest - way.top) if rest > way.top else None


def holders_of(node: QuotaNode, pair: FlavorResource) -> QuotaHolders:
    """The queues that use the pair in the node's tree."""
    every = list(_holders(node.root, pair))
    first = tuple(Holder(queue, -used, -borrowed) for borrowed, used, queue in nsmallest(_MOST_HOLDERS, every))
    used = -sum(each for _, each, _ in every) - sum(each.used for each in first)
    borrowed = -sum(each for each, *_ in every) - sum(each.borrowed for each in first)
    return QuotaHolders(first, len(every) - len(first), used, borrowed)


def _with_own_queue(node: QuotaNode, pair: FlavorResource, found: QuotaHolders) -> QuotaHolders:
    """The same holders, with the queue itself among the first ones, since its users may read only that one."""
    used = node.usage.get(pair, 0)
    if used <= 0 or not found.others or any(each.queue == node.name for each in found.first):
        return found
    own = Holder(node.name, used, max(0, used - node.nominal(pair)))
    rest = (found.others - 1, found.used - used, found.borrowed - own.borrowed)
    return QuotaHolders((*found.first, own), *rest)


def _holders(root: QuotaNode, pair: FlavorResource) -> Iterator[tuple[int, int, str]]:
    """Yield sort keys that put the largest borrowers first. They are plain tuples, since there may be 10 000 queues."""
    stack = [root]
    while stack:
        here = stack.pop()
        stack.extend(here.cohorts.values())
        for queue in here.queues.values() if not here.is_queue else (here,):
            used = queue.usage.get(pair, 0)
            if used > 0:
                yield -max(0, used - queue.nominal(pair)), -used, queue.name


def _keepers(root: QuotaNode, pair: FlavorResource, idle: bool, most: int) -> list[tuple[QuotaNode, int]]:
    """The `most` nodes that withhold the largest amounts of the pair, with these amounts."""
    found, stack = [], [root]
    while stack:
        here = stack.pop()
        stack.extend(here.cohorts.values())
        for each in (here, *here.queues.values()):
            if each.local.get(pair, 0) > 0:
                amount = each.local[pair] if idle else each.local_free(pair)
                if amount > 0:
                    found.append((-amount, each.name, each.is_queue, each))
    return [(each, -amount) for amount, _, _, each in nsmallest(most, found, key=lambda kept: kept[:3])]


def fits_idle(
    state: QuotaState, queue: ClusterQueueState, workload: Workload, requests: Sequence[PodSetRequests]
) -> bool:
    """Whether the workload would get quota if nothing were in use. As in cycles, each search continues the last one."""
    resume: Progress | None = None
    with state.tree.simulation():
        for node in queue.node.path():
            state.tree.remove(node, {**node.usage})
        while resume is None or resume.pending:
            found = assign(state, queue, workload, resume=resume, requests=requests)
            if found.outcome == FlavorOutcome.FIT:
                return True
            resume = progress_of(found, last=resume)
    return False
