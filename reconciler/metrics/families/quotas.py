"""Quota by flavor and resource, and its usage. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cluster.metrics import Family, Sample
from policies.configuration.kueue.values import CLUSTER_QUEUE_RESOURCES
from policies.model.pools import UNLIMITED
from reconciler.metrics.kueue import CLUSTER_QUEUE, COHORT, metric
from reconciler.metrics.source import source
from scheduling.objects.amounts import FlavorResource, approximate
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World

_PAIR = ("flavor", "resource")


def _of_queues(name: str, help: str) -> Family:
    labels = (COHORT, CLUSTER_QUEUE, *_PAIR)
    return metric(f"cluster_queue_{name}", help, *labels, switches=(CLUSTER_QUEUE_RESOURCES,))


def _of_cohorts(name: str, help: str) -> Family:
    return metric(f"cohort_subtree_{name}", help, COHORT, *_PAIR)


NOMINAL = _of_queues("nominal_quota", "The nominalQuota of the ClusterQueue, by flavor.")
BORROWING = _of_queues("borrowing_limit", "The borrowingLimit of the ClusterQueue, by flavor; +Inf if not set.")
LENDING = _of_queues("lending_limit", "The lendingLimit of the ClusterQueue, by flavor; +Inf if not set.")
RESERVED = _of_queues("resource_reservation", "Quota that Workloads reserve, by flavor.")
USED = _of_queues("resource_usage", "Quota that admitted Workloads use, by flavor.")
SUBTREE_QUOTA = _of_cohorts("quota", "Quota of the Cohort, and quota that its descendants lend.")
SUBTREE_RESERVED = _of_cohorts(
    "resource_reservations", "Quota that Workloads reserve in ClusterQueues below the Cohort."
)
SUBTREE_ADMITTED = metric("cohort_subtree_admitted_active_workloads", "Admitted Workloads below the Cohort.", COHORT)


@source(World, NOMINAL, BORROWING, LENDING, RESERVED, USED)
def of_cluster_queues(world: World) -> Iterator[Sample]:
    for queue in world.state.queues.values():
        cohort = queue.node.parent.name if queue.node.parent is not None else ""
        for pair, terms in queue.settings.terms.items():
            labels = (cohort, queue.name, *pair)
            yield NOMINAL.sample(_amount(pair, terms.nominal), *labels)
            yield BORROWING.sample(_limit(pair, terms.borrowing), *labels)
            yield LENDING.sample(_limit(pair, terms.lending), *labels)
            yield RESERVED.sample(_amount(pair, queue.usage.reserved.get(pair, 0)), *labels)
            yield USED.sample(_amount(pair, queue.usage.used.get(pair, 0)), *labels)


@source(World, SUBTREE_QUOTA, SUBTREE_RESERVED, SUBTREE_ADMITTED)
def of_cohorts(world: World) -> Iterator[Sample]:
    """The Cohorts. As in Kueue, a Cohort whose object was deleted is omitted until a node below it changes."""
    sums, counts = _below(world)
    state = world.state
    for node in state.tree.cohorts.values():
        if node.name not in state.deleted_cohorts and not state.tree.broken(node):
            yield from _above_nothing(SUBTREE_QUOTA, node, node.subtree)
            yield from _above_nothing(SUBTREE_RESERVED, node, sums.get(node, {}))
            yield SUBTREE_ADMITTED.sample(counts.get(node, 0), node.name)


def _above_nothing(family: Family, node: QuotaNode, amounts: Mapping[FlavorResource, int]) -> Iterator[Sample]:
    """The samples of amounts above 0. An amount of 0 has no series."""
    for pair, amount in amounts.items():
        if amount > 0:
            yield family.sample(_amount(pair, amount), node.name, *pair)


def _below(world: World) -> tuple[Mapping[QuotaNode, Mapping[FlavorResource, int]], Mapping[QuotaNode, int]]:
    """The usage and the number of admitted workloads in the subtree of each Cohort, from one pass over all queues."""
    sums: dict[QuotaNode, dict[FlavorResource, int]] = {}
    counts: dict[QuotaNode, int] = {}
    for queue in world.state.queues.values():
        if queue.usage.reserving:
            for node in queue.node.path()[1:]:
                counts[node] = counts.get(node, 0) + queue.usage.admitted
                total = sums.setdefault(node, {})
                for pair, amount in queue.usage.reserved.items():
                    total[pair] = total.get(pair, 0) + amount
    return sums, counts


def _limit(pair: FlavorResource, amount: int | None) -> float:
    return _amount(pair, UNLIMITED if amount is None else amount)


def _amount(pair: FlavorResource, amount: int) -> float:
    """The amount in cores, bytes or whole units."""
    return approximate(pair.resource, amount)
