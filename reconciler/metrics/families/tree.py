"""Where ClusterQueues and Cohorts stand, and their weighted shares. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from policies.model.pools import UNLIMITED
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, gauge
from reconciler.metrics.source import source
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Shares
from scheduling.world.world import World

_ABOVE = ("parent_cohort", "root_cohort")
QUEUE_INFO = gauge("cluster_queue_info", "1; where the ClusterQueue stands.", CLUSTER_QUEUE, *_ABOVE)
COHORT_INFO = gauge("cohort_info", "1; where the Cohort stands.", COHORT, *_ABOVE)
_SHARE = "What is borrowed of what can be, in thousandths, by fair weight."
QUEUE_SHARE = gauge("cluster_queue_weighted_share", _SHARE, CLUSTER_QUEUE, COHORT)
COHORT_SHARE = gauge("cohort_weighted_share", _SHARE, COHORT)


@source(World, QUEUE_INFO, COHORT_INFO)
def infos(world: World) -> Iterator[Sample]:
    tree = world.state.tree
    for family, nodes in ((QUEUE_INFO, tree.queues), (COHORT_INFO, tree.cohorts)):
        for node in nodes.values():
            yield family.sample(1, node.name, _parent(node), node.root.name if node.up is not None else "")


@source(World, QUEUE_SHARE, COHORT_SHARE, applies=lambda world: world.state.options.fair_sharing)
def shares(world: World) -> Iterator[Sample]:
    known, tree = Shares(), world.state.tree
    for node in tree.queues.values():
        yield QUEUE_SHARE.sample(0 if tree.broken(node) else _share(known, node), node.name, _parent(node))
    for node in tree.cohorts.values():
        yield COHORT_SHARE.sample(0 if tree.broken(node) else _share(known, node), node.name)


def _parent(node: QuotaNode) -> str:
    return node.parent.name if node.parent is not None else ""


def _share(known: Shares, node: QuotaNode) -> float:
    share = known.of(node).published
    return float("inf") if share == UNLIMITED else float(share)
