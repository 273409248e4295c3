"""The tree of ClusterQueues and Cohorts, and their weighted shares. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan

from cluster.metrics import Sample
from policies.configuration.kueue.values import CLUSTER_QUEUE_RESOURCES, METRICS_FOR_COHORTS
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, metric
from reconciler.metrics.source import source
from scheduling.quota.node import QuotaNode
from scheduling.quota.shares import Shares
from scheduling.world.world import World

_TREE_LABELS = ("parent_cohort", "root_cohort")
QUEUE_INFO = metric(
    "cluster_queue_info",
    "1; the place of the ClusterQueue in its tree.",
    CLUSTER_QUEUE,
    *_TREE_LABELS,
    switches=(METRICS_FOR_COHORTS,),
)
COHORT_INFO = metric(
    "cohort_info", "1; the place of the Cohort in its tree.", COHORT, *_TREE_LABELS, switches=(METRICS_FOR_COHORTS,)
)
_SHARE = "Borrowed quota as a share of the lendable quota, in thousandths, divided by the fair weight"
QUEUE_SHARE = metric(
    "cluster_queue_weighted_share",
    f"{_SHARE}; NaN for borrowing with weight 0.",
    *(CLUSTER_QUEUE, COHORT),
    switches=(CLUSTER_QUEUE_RESOURCES,),
)
COHORT_SHARE = metric("cohort_weighted_share", f"{_SHARE}; +Inf for borrowing with weight 0.", COHORT)


@source(World, QUEUE_INFO, COHORT_INFO)
def infos(world: World) -> Iterator[Sample]:
    """The parent and the root of each node.

    A root Cohort is its own root. A ClusterQueue without a Cohort has no root. Nodes on or below a cycle are omitted.
    """
    tree = world.state.tree
    for queue in tree.queues.values():
        if not tree.broken(queue):
            root = queue.root.name if queue.up is not None else ""
            yield QUEUE_INFO.sample(1, queue.name, _parent_name(queue), root)
    for cohort in tree.cohorts.values():
        if not tree.broken(cohort):
            yield COHORT_INFO.sample(1, cohort.name, _parent_name(cohort), cohort.root.name)


@source(World, QUEUE_SHARE, COHORT_SHARE, applies=lambda world: world.state.options.fair_sharing)
def shares(world: World) -> Iterator[Sample]:
    """The weighted shares of ClusterQueues, and of Cohorts that are not implicit."""
    all_shares, tree = Shares(), world.state.tree
    for queue in tree.queues.values():
        yield QUEUE_SHARE.sample(_share(world, all_shares, queue, nan), queue.name, _parent_name(queue))
    for cohort in tree.cohorts.values():
        if cohort.explicit:
            yield COHORT_SHARE.sample(_share(world, all_shares, cohort, inf), cohort.name)


def _parent_name(node: QuotaNode) -> str:
    return node.parent.name if node.parent is not None else ""


def _share(world: World, all_shares: Shares, node: QuotaNode, if_infinite: float) -> float:
    """The exact share of a node. Its status shows it rounded up. On or below a cycle it is 0.

    `if_infinite`: the value for a node that borrows with weight 0.
    """
    if world.state.tree.broken(node):
        return 0
    infinite, share = all_shares.of(node).rank
    return if_infinite if infinite else float(share)
