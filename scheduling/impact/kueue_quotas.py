"""The quota of every ClusterQueue and Cohort, as the engine counts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.impact.quotas import NO_QUOTA, Excess, NodeQuotas, PairQuota, QuotaPair
from policies.model.objects import Ref
from policies.model.pools import NO_TERMS, UNLIMITED
from scheduling.impact.excesses import Excesses, by_node
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World

_CPU = "cpu"


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
