"""A snapshot of the nodes of quota trees: their quota, usage, borrowing and numbers of workloads.

`nodes` copies only counted amounts, so that sums can be computed later, while the world changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.objects.copying import replace
from scheduling.objects.queue_settings import NO_STOP
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World

Usage = Mapping[FlavorResource, int]
_NO_AMOUNTS: Usage = {}
NodeName = tuple[bool, str]
"""Whether it is a ClusterQueue, and its name."""


@dataclass(frozen=True, slots=True)
class WorkloadCounts:
    """The numbers of workloads of a subtree.

    reserving: those with quota.
    admitted: the admitted ones of these.
    """

    pending: int = 0
    reserving: int = 0
    admitted: int = 0

    def __add__(self, other: WorkloadCounts) -> WorkloadCounts:
        return WorkloadCounts(
            self.pending + other.pending, self.reserving + other.reserving, self.admitted + other.admitted
        )


NO_WORKLOADS = WorkloadCounts()


@dataclass(frozen=True, slots=True)
class NodeState:
    """A ClusterQueue or Cohort.

    exists: whether it has an object.
    up: see `QuotaNode`.
    terms: its own quota and limits, by pair.
    usage: the quota in use, by pair.
    subtree: the quota that the subtree of a Cohort may use without borrowing, by pair.
    inactive: why a ClusterQueue admits nothing; empty if it is active.
    oldest: since when the longest waiting workload of a ClusterQueue waits, in nanoseconds; None if none waits.
    """

    name: str
    is_queue: bool
    exists: bool
    parent: str | None
    up: str | None
    on_cycle: bool
    terms: Mapping[FlavorResource, Terms]
    usage: Usage
    subtree: Usage
    counts: WorkloadCounts = NO_WORKLOADS
    stop_policy: str = NO_STOP
    inactive: str = ""
    oldest: int | None = None

    def quota(self, pair: FlavorResource) -> int:
        """The quota of the pair that the node may use without borrowing."""
        if not self.is_queue:
            return self.subtree.get(pair, 0)
        terms = self.terms.get(pair)
        return terms.nominal if terms is not None else 0


@dataclass(frozen=True, slots=True)
class InUse:
    """The usage of a pair in the subtree of a node.

    borrowed: the part that is borrowed from the rest of the tree.
    over: the part beyond its quota and borrowing limit, for example after one of them was lowered.
    """

    used: int
    borrowed: int
    over: int = 0


def node_names(world: World) -> list[NodeName]:
    """The names of all Cohorts, then of all ClusterQueues, sorted."""
    tree = world.state.tree
    return [*((False, name) for name in sorted(tree.cohorts)), *((True, name) for name in sorted(tree.queues))]


def nodes(world: World, names: Iterable[NodeName] | None = None) -> list[NodeState]:
    """All nodes, or the existing ones of `names`."""
    tree = world.state.tree
    found = []
    for is_queue, name in node_names(world) if names is None else names:
        node = (tree.queues if is_queue else tree.cohorts).get(name)
        if node is not None:
            found.append(_queue_state(world, node) if is_queue else _state(node))
    return found


def _queue_state(world: World, node: QuotaNode) -> NodeState:
    queue, pending = world.state.queues[node.name], world.queues.pending.get(node.name)
    waiting = len(pending) if pending is not None else 0
    return replace(
        _state(node),
        counts=WorkloadCounts(waiting, queue.usage.reserving, queue.usage.admitted),
        stop_policy=queue.settings.stop_policy,
        inactive=queue.inactive,
        oldest=pending.oldest() if pending is not None and waiting else None,
    )


def _state(node: QuotaNode) -> NodeState:
    return NodeState(
        name=node.name,
        is_queue=node.is_queue,
        exists=node.is_queue or node.explicit,
        parent=node.parent.name if node.parent is not None else None,
        up=node.up.name if node.up is not None else None,
        on_cycle=node.on_cycle,
        terms=node.terms,
        usage=dict(node.usage),
        subtree=_NO_AMOUNTS if node.is_queue else dict(node.subtree),
    )


@dataclass(frozen=True, slots=True)
class Below:
    """Usage by pair and numbers of workloads, by ClusterQueue and by Cohort.

    Cohorts on a cycle are left out, since their sums would not end.
    """

    queues: Mapping[str, Mapping[FlavorResource, InUse]]
    cohorts: Mapping[str, Mapping[FlavorResource, InUse]]
    queue_counts: Mapping[str, WorkloadCounts]
    cohort_counts: Mapping[str, WorkloadCounts]


def below(states: Iterable[NodeState]) -> Below:
    """The sums over subtrees. Only the nodes in `states` count."""
    states = list(states)
    cohorts = {state.name: state for state in states if not state.is_queue}
    queues = [state for state in states if state.is_queue]
    used = sums_below(states, lambda state: state.usage if state.is_queue else {})
    counts: dict[str, WorkloadCounts] = {}
    for queue in queues:
        for up in _above(queue, cohorts) if queue.counts != NO_WORKLOADS else ():
            counts[up] = counts.get(up, NO_WORKLOADS) + queue.counts
    return Below(
        {queue.name: _in_use(queue, queue.usage) for queue in queues},
        {name: _in_use(cohorts[name], total) for name, total in used.items() if not cohorts[name].on_cycle},
        {queue.name: queue.counts for queue in queues},
        {name: found for name, found in counts.items() if not cohorts[name].on_cycle},
    )


def sums_below(
    states: Sequence[NodeState], amounts: Callable[[NodeState], Usage]
) -> dict[str, dict[FlavorResource, int]]:
    """The sums over the descendants of each Cohort, without the Cohort itself, by pair.

    Children are summed first, so that walks up the tree start at each Cohort, not at each ClusterQueue.
    """
    cohorts = {state.name: state for state in states if not state.is_queue}
    of_children: dict[str, dict[FlavorResource, int]] = {}
    for state in states:
        if state.up is not None and state.up in cohorts:
            _add(of_children.setdefault(state.up, {}), amounts(state))
    found: dict[str, dict[FlavorResource, int]] = {}
    for name, total in of_children.items():
        for each in (name, *_above(cohorts[name], cohorts)):
            _add(found.setdefault(each, {}), total)
    return found


def _above(state: NodeState, cohorts: Mapping[str, NodeState]) -> Iterator[str]:
    up = state.up
    while up is not None and up in cohorts:
        yield up
        up = cohorts[up].up


def _add(total: dict[FlavorResource, int], more: Usage) -> None:
    for pair, amount in more.items():
        total[pair] = plus(total.get(pair, 0), amount)


def _in_use(state: NodeState, used: Usage) -> dict[FlavorResource, InUse]:
    return {pair: InUse(amount, *_beyond(state, pair)) for pair, amount in used.items() if amount}


def _beyond(state: NodeState, pair: FlavorResource) -> tuple[int, int]:
    """The borrowed amount, and the amount in use beyond all limits. A root borrows nothing."""
    beyond = max(0, state.usage.get(pair, 0) - state.quota(pair))
    if state.up is None:
        return 0, beyond
    terms = state.terms.get(pair)
    if state.is_queue and terms is None:
        return beyond, beyond
    limit = terms.borrowing if terms is not None else None
    return beyond, max(0, beyond - limit) if limit is not None else 0
