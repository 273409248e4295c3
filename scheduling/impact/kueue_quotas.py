"""The quota of every ClusterQueue and Cohort, as the engine counts it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.dialects.kueue import CLUSTER_QUEUE, COHORT
from policies.impact.quotas import NO_QUOTA, Excess, NodeQuotas, PairQuota, QuotaPair
from policies.model.objects import Ref
from policies.model.pools import UNLIMITED
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World

_CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Borrowing:
    """A ClusterQueue that uses more than its nominal quota, in nano units. Others may reclaim the difference."""

    ref: Ref
    pair: QuotaPair
    used: int
    nominal: int


def kueue_quotas(world: World) -> dict[Ref, NodeQuotas]:
    return {_ref(node): _quotas(node) for node in _nodes(world)}


def over_quota(world: World) -> dict[tuple[Ref, QuotaPair], Excess]:
    """The nodes that use more than their quota and borrowing limit allow."""
    found = (_excess(node, pair) for node in _nodes(world) for pair in node.usage)
    return {(each.ref, each.pair): each for each in found if each is not None}


def borrowing(world: World) -> dict[tuple[Ref, QuotaPair], Borrowing]:
    """The ClusterQueues that borrow, by pair."""
    found = (_borrowed(node, pair) for node in world.state.tree.queues.values() for pair in node.usage)
    return {(each.ref, each.pair): each for each in found if each is not None}


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


def _excess(node: QuotaNode, pair: FlavorResource) -> Excess | None:
    limit, terms = node.quota(pair), node.terms.get(pair)
    if node.up is not None:
        if terms is None or terms.borrowing is None:
            return None
        limit += terms.borrowing
    used = node.used(pair)
    if used <= limit:
        return None
    factor = nano_of(pair.resource, 1) or 0
    return Excess(_ref(node), QuotaPair(*pair), used * factor, limit * factor)


def _borrowed(node: QuotaNode, pair: FlavorResource) -> Borrowing | None:
    used, nominal = node.used(pair), node.nominal(pair)
    if node.up is None or used <= nominal:
        return None
    factor = nano_of(pair.resource, 1) or 0
    return Borrowing(CLUSTER_QUEUE.named(node.name), QuotaPair(*pair), used * factor, nominal * factor)
