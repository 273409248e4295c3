"""A snapshot of the quota trees' nodes: what each has, uses and borrows, and how many workloads it has.

`nodes` copies only what is counted, so that the sums can be computed while the world changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from policies.model.pools import Terms
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.objects.queue_settings import NO_STOP
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World

Usage = Mapping[FlavorResource, int]
NodeName = tuple[bool, str]
"""Whether it is a ClusterQueue, and its name."""


@dataclass(frozen=True, slots=True)
class WorkloadCounts:
    """Workloads of a subtree. `reserving` hold quota; `admitted` are some of these."""

    pending: int = 0
    reserving: int = 0
    admitted: int = 0

    def __add__(self, other: WorkloadCounts) -> WorkloadCounts:
        return WorkloadCounts(
            self.pending + other.pending, self.reserving + other.reserving, self.admitted + other.admitted
        )


@dataclass(frozen=True, slots=True)
class NodeState:
    """A ClusterQueue or Cohort. `exists`: it has an object. `up`: see `QuotaNode`.

    By pair, `usage` is what is in use there, `quota` what its subtree may use without borrowing. Of a ClusterQueue,
    `inactive` says why it admits nothing, empty if it does; `oldest` is since when the workload waits that waits
    longest, None if none waits.
    """

    name: str
    is_queue: bool
    exists: bool
    parent: str | None
    up: str | None
    on_cycle: bool
    terms: Mapping[FlavorResource, Terms]
    usage: Usage
    quota: Usage
    counts: WorkloadCounts = WorkloadCounts()
    stop_policy: str = NO_STOP
    inactive: str = ""
    oldest: int | None = None


@dataclass(frozen=True, slots=True)
class InUse:
    """What the subtree of a node uses of a pair, and how much of that is borrowed from outside.

    `over` is what it uses beyond its quota and its borrowing limit, as after one of them was lowered.
    """

    used: int
    borrowed: int
    over: int = 0


def node_names(world: World) -> list[NodeName]:
    """Cohorts, then ClusterQueues, each by name."""
    tree = world.state.tree
    return [*((False, name) for name in sorted(tree.cohorts)), *((True, name) for name in sorted(tree.queues))]


def nodes(world: World, names: Iterable[NodeName] | None = None) -> list[NodeState]:
    """All nodes, or those of `names` that exist."""
    tree = world.state.tree
    found = []
    for is_queue, name in node_names(world) if names is None else names:
        if is_queue and name in tree.queues:
            node = tree.queues[name]
            nominal = {pair: terms.nominal for pair, terms in node.terms.items()}
            found.append(_queue_state(world, _state(node, nominal, _counts(world, name))))
        elif not is_queue and name in tree.cohorts:
            node = tree.cohorts[name]
            found.append(_state(node, dict(node.subtree)))
    return found


def _counts(world: World, name: str) -> WorkloadCounts:
    usage, pending = world.state.queues[name].usage, world.queues.pending.get(name)
    return WorkloadCounts(len(pending) if pending is not None else 0, usage.reserving, usage.admitted)


def _queue_state(world: World, state: NodeState) -> NodeState:
    queue, pending = world.state.queues[state.name], world.queues.pending.get(state.name)
    return replace(
        state,
        stop_policy=queue.settings.stop_policy,
        inactive=queue.inactive,
        oldest=pending.oldest() if pending is not None else None,
    )


def _state(node: QuotaNode, quota: Usage, counts: WorkloadCounts | None = None) -> NodeState:
    return NodeState(
        name=node.name,
        is_queue=node.is_queue,
        exists=node.is_queue or node.explicit,
        parent=node.parent.name if node.parent is not None else None,
        up=node.up.name if node.up is not None else None,
        on_cycle=node.on_cycle,
        terms=node.terms,
        usage=dict(node.usage),
        quota=quota,
        counts=counts or WorkloadCounts(),
    )


@dataclass(frozen=True, slots=True)
class Below:
    """Usage by pair and numbers of workloads, by ClusterQueue and by Cohort.

    Cohorts on a cycle are left out: their sums would have no end.
    """

    queues: Mapping[str, Mapping[FlavorResource, InUse]]
    cohorts: Mapping[str, Mapping[FlavorResource, InUse]]
    queue_counts: Mapping[str, WorkloadCounts]
    cohort_counts: Mapping[str, WorkloadCounts]


def below(states: Iterable[NodeState]) -> Below:
    """The sums over subtrees, in one pass: from each ClusterQueue up to the root, as far as `states` has the nodes."""
    states = list(states)
    cohorts = {state.name: state for state in states if not state.is_queue}
    queues = [state for state in states if state.is_queue]
    sums: dict[str, dict[FlavorResource, int]] = {}
    counts: dict[str, WorkloadCounts] = {}
    for queue in queues:
        up = queue.up
        while up in cohorts:
            counts[up] = counts.get(up, WorkloadCounts()) + queue.counts
            total = sums.setdefault(up, {})
            for pair, amount in queue.usage.items():
                total[pair] = plus(total.get(pair, 0), amount)
            up = cohorts[up].up
    finite = [name for name in counts if not cohorts[name].on_cycle]
    return Below(
        {queue.name: _in_use(queue, queue.usage) for queue in queues},
        {name: _in_use(cohorts[name], sums[name]) for name in finite},
        {queue.name: queue.counts for queue in queues},
        {name: counts[name] for name in finite},
    )


def _in_use(state: NodeState, used: Usage) -> dict[FlavorResource, InUse]:
    return {pair: InUse(amount, *_beyond(state, pair)) for pair, amount in used.items() if amount}


def _beyond(state: NodeState, pair: FlavorResource) -> tuple[int, int]:
    """What is borrowed, and what is in use that may not be: a root borrows nothing."""
    beyond = max(0, state.usage.get(pair, 0) - state.quota.get(pair, 0))
    if state.up is None:
        return 0, beyond
    terms = state.terms.get(pair)
    if state.is_queue and terms is None:
        return beyond, beyond
    limit = terms.borrowing if terms is not None else None
    return beyond, max(0, beyond - limit) if limit is not None else 0
