"""The state of LocalQueues: whether they are active, and the quota that is used through them.

Source: Kueue v0.19, pkg/metrics/metrics.go; KEP-4136 for the usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from cluster.metrics import Sample
from reconciler.controllers.queue_status import readiness_of_local
from reconciler.metrics.kueue import CLUSTER_QUEUE, local_metric
from reconciler.metrics.source import source
from scheduling.objects.amounts import approximate
from scheduling.queues.consumption import NEVER_NEXT
from scheduling.world.usage_report import local_queue_usage
from scheduling.world.world import World

STATUS = local_metric("status", "1 for the status of the LocalQueue's condition Active.", "active")
_STATUSES = ("True", "False", "Unknown")
_PAIR = ("flavor", "resource")
RESERVED = local_metric("resource_reservation", "Quota that Workloads reserve through it, by flavor.", *_PAIR)
USED = local_metric("resource_usage", "Quota that admitted Workloads use through it, by flavor.", *_PAIR)
RECENT = local_metric(
    "admission_fair_sharing_usage",
    "Recent usage of the LocalQueue, with penalties and weights; the lowest goes first. +Inf for weight 0.",
    CLUSTER_QUEUE,
)


@source(World, STATUS)
def statuses(world: World) -> Iterator[Sample]:
    for local in world.queues.local_queues.values():
        now = str(readiness_of_local(world, local).holds)
        for each in _STATUSES:
            yield STATUS.sample(each == now, local.name, local.namespace, each)


@source(World, RESERVED, USED)
def amounts(world: World) -> Iterator[Sample]:
    """The amounts for every flavor of the ClusterQueue. Amounts of 0 are included."""
    for local in world.queues.local_queues.values():
        queue = world.state.queues.get(local.cluster_queue)
        if queue is not None:
            usage = local_queue_usage(queue, local.namespace, local.name)
            for family, listed in ((RESERVED, usage.reserved), (USED, usage.used)):
                for pair, total in ((each.pair, each.total) for each in listed):
                    yield family.sample(approximate(pair.resource, total), local.name, local.namespace, *pair)


@source(World, RECENT, applies=lambda world: world.consumption is not None)
def recent(world: World) -> Iterator[Sample]:
    for key, local in world.queues.local_queues.items():
        used = world.consumption.usage(key) if world.consumption is not None else 0
        now = inf if used == NEVER_NEXT else float(used)
        yield RECENT.sample(now, local.name, local.namespace, local.cluster_queue)
