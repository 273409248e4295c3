"""The effect of a change on Kueue's workloads, by a simulation that settles before and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR
from policies.dialects.kueue_kinds import ADMISSION_CHECK, TOPOLOGY
from policies.dialects.kueue_state import NEVER
from policies.dialects.reading import Manifest
from policies.impact.quotas import NO_QUOTA, Excess, NodeQuotas, PairQuota, QuotaPair, Quotas
from policies.model.objects import Ref
from policies.model.pools import NO_TERMS, UNLIMITED
from scheduling.impact.excesses import Excesses, by_node, grown
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.node import QuotaNode
from scheduling.simulation.simulation import KueueSimulation
from scheduling.simulation.trace import Evicted, Preempted, TraceEvent
from scheduling.world.world import World

_BY_NODE = attrgetter("ref", "pair")
_CPU = "cpu"


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A ClusterQueue that borrows, or borrows more, because of the change, and the workloads in it.

    They may be preempted when another ClusterQueue of the tree needs the quota and may reclaim it.
    borrowing: its limit is the nominal quota.
    """

    borrowing: Excess
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StillInUse:
    """A deleted object that Kueue's finalizer keeps.

    workloads: those with quota in the ClusterQueue, which admits no new ones.
    queues: the ClusterQueues that name the ResourceFlavor or the AdmissionCheck.
    flavors: the ResourceFlavors that name the Topology.
    """

    ref: Ref
    workloads: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    flavors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """The effect on workloads, which are named by their key, `namespace/name`.

    before, after: the quotas of all nodes.
    over, at_risk: at the moment of the change, before any preemption.
    lost: the first eviction of each workload that has quota before the change and none after it.
    restarted: the first eviction of each workload that loses its quota and gets some again.
    admitted: the workloads that have quota only after the change.
    settled: whether the simulation settled.
    in_use: the deleted objects that stay until they are no longer used.
    """

    before: Quotas
    after: Quotas
    over: tuple[Excess, ...]
    at_risk: tuple[AtRisk, ...]
    lost: tuple[Evicted | Preempted, ...]
    restarted: tuple[Evicted | Preempted, ...]
    admitted: tuple[str, ...]
    settled: bool
    in_use: tuple[StillInUse, ...] = ()


def predict(simulation: KueueSimulation, manifests: Iterable[Manifest], deleted: Iterable[Ref]) -> Prediction:
    """The effect of applying these manifests and deleting these objects at the same moment.

    The simulation must have settled before, so that the result only has effects of the change.
    """
    world = simulation.world
    before, over, borrows = kueue_quotas(world), over_quota(world), borrowing(world)
    held = _holding(simulation)
    start = len(simulation.trace)
    dropped = tuple(deleted)
    simulation.change(manifests, dropped)
    now_over, now_borrows = over_quota(world), borrowing(world)
    more_borrowed = sorted(grown(borrows, now_borrows), key=_BY_NODE)
    risks = tuple(AtRisk(each, _workloads(simulation, each)) for each in _reclaimable(world, more_borrowed))
    simulation.settle()
    after = _holding(simulation)
    ended = _ended(simulation.trace[start:])
    return Prediction(
        before=before,
        after=kueue_quotas(world),
        over=tuple(sorted(grown(over, now_over), key=_BY_NODE)),
        at_risk=risks,
        lost=tuple(each for key, each in ended.items() if key in held and key not in after),
        restarted=tuple(each for key, each in ended.items() if key in held and key in after),
        admitted=tuple(sorted(after - held)),
        settled=not simulation.unsettled,
        in_use=tuple(_in_use(world, dropped)),
    )


def _in_use(world: World, deleted: Iterable[Ref]) -> Iterator[StillInUse]:
    for ref in sorted(deleted):
        if ref.group_kind == CLUSTER_QUEUE and (queue := world.state.queues.get(ref.name)) is not None:
            yield StillInUse(ref, workloads=tuple(sorted(each.key for each in queue.reservations.values())))
        elif ref.group_kind == RESOURCE_FLAVOR and ref.name in world.state.flavors:
            yield StillInUse(ref, queues=tuple(sorted(world.queues_with_flavor(ref.name))))
        elif ref.group_kind == ADMISSION_CHECK and ref.name in world.checks:
            yield StillInUse(ref, queues=tuple(sorted(world.queues_with_check(ref.name))))
        elif ref.group_kind == TOPOLOGY and ref.name in world.topologies:
            yield StillInUse(ref, flavors=tuple(sorted(world.flavors_with_topology(ref.name))))


def _holding(simulation: KueueSimulation) -> set[str]:
    return {key for key, workload in simulation.world.workloads.items() if workload.counts}


def _ended(trace: Iterable[TraceEvent]) -> dict[str, Evicted | Preempted]:
    """The first eviction of each workload, in the order of the trace."""
    found: dict[str, Evicted | Preempted] = {}
    for each in trace:
        if isinstance(each, Evicted | Preempted):
            found.setdefault(each.workload, each)
    return found


def _workloads(simulation: KueueSimulation, borrowing: Excess) -> tuple[str, ...]:
    queue = simulation.world.state.queues[borrowing.ref.name]
    users = (each for each in queue.reservations.values() if each.usage.get(FlavorResource(*borrowing.pair)))
    return tuple(sorted(each.key for each in users))


def _reclaimable(world: World, found: list[Excess]) -> list[Excess]:
    """The borrowings of pairs that another ClusterQueue of the tree has and may reclaim."""
    reclaimers: dict[QuotaNode, list[QuotaNode]] = {}
    for queue in world.state.queues.values() if found else ():
        if queue.settings.preemption.reclaim_within_cohort != NEVER:
            reclaimers.setdefault(queue.node.root, []).append(queue.node)
    return [each for each in found if _others(world.state.queues[each.ref.name].node, each.pair, reclaimers)]


def _others(node: QuotaNode, pair: QuotaPair, reclaimers: dict[QuotaNode, list[QuotaNode]]) -> bool:
    return any(other is not node and FlavorResource(*pair) in other.terms for other in reclaimers.get(node.root, ()))


def kueue_quotas(world: World) -> dict[Ref, NodeQuotas]:
    return {_ref(node): _quotas(node) for node in _nodes(world)}


def over_quota(world: World) -> Excesses:
    """The nodes that use more than their quota and borrowing limit allow."""
    return by_node(_excesses(_nodes(world), _limit))


def borrowing(world: World) -> Excesses:
    """The ClusterQueues that use more than their nominal quota. Others may reclaim the difference."""
    below_cohorts = (node for node in world.state.tree.queues.values() if node.up is not None)
    return by_node(_excesses(below_cohorts, QuotaNode.nominal))


def nano_of(resource: str, amount: int) -> int | None:
    """An amount of the engine in nano units; None for unlimited."""
    return None if amount == UNLIMITED else amount * (10**6 if resource == _CPU else 10**9)


def _nodes(world: World) -> Iterator[QuotaNode]:
    yield from world.state.tree.cohorts.values()
    yield from world.state.tree.queues.values()


def _ref(node: QuotaNode) -> Ref:
    return CLUSTER_QUEUE.named(node.name) if node.is_queue else COHORT.named(node.name)


def _quotas(node: QuotaNode) -> NodeQuotas:
    """The quotas of the node.

    Pairs without any amount are left out, since the tree keeps pairs of earlier manifests.
    """
    found = ((QuotaPair(*pair), _quota(node, pair)) for pair in sorted(_pairs_upward(node)))
    amounts = {pair: quota for pair, quota in found if quota != NO_QUOTA}
    return NodeQuotas(_ref(node), node.parent.name if node.parent is not None else "", amounts)


def _pairs_upward(node: QuotaNode) -> set[FlavorResource]:
    """The pairs that the node can use: for a ClusterQueue those that it lists, for a Cohort those of its tree."""
    return set(node.terms) if node.is_queue else {pair for above in node.path() for pair in above.subtree}


def _quota(node: QuotaNode, pair: FlavorResource) -> PairQuota:
    amounts = node.nominal(pair), node.quota(pair), node.local.get(pair, 0), node.potential(pair)
    return PairQuota(*(nano_of(pair.resource, amount) for amount in amounts))


def _excesses(
    nodes: Iterable[QuotaNode], limit_of: Callable[[QuotaNode, FlavorResource], int | None]
) -> Iterator[Excess]:
    for node in nodes:
        for pair in node.usage:
            used, limit = node.used(pair), limit_of(node, pair)
            if limit is not None and used > limit:
                factor = nano_of(pair.resource, 1) or 0
                yield Excess(_ref(node), QuotaPair(*pair), used * factor, limit * factor)


def _limit(node: QuotaNode, pair: FlavorResource) -> int | None:
    """The quota of a root, or else the quota and the borrowing limit; None without a borrowing limit."""
    if node.up is None:
        return node.quota(pair)
    borrowing = node.terms.get(pair, NO_TERMS).borrowing
    return None if borrowing is None else node.quota(pair) + borrowing
