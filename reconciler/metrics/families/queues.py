"""Pending and admitted workloads of queues, and the status of ClusterQueues. Source: Kueue v0.19, pkg/metrics."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.controllers.queue_status import readiness_of
from reconciler.metrics.kueue import CLUSTER_QUEUE, local_metric, metric
from reconciler.metrics.source import source
from scheduling.quota.state import ClusterQueueState
from scheduling.world.world import World

PENDING = metric("pending_workloads", "Pending Workloads, by status.", CLUSTER_QUEUE, "status")
RESERVING = metric("reserving_active_workloads", "Workloads with reserved quota.", CLUSTER_QUEUE)
ADMITTED = metric("admitted_active_workloads", "Workloads that are admitted and not finished.", CLUSTER_QUEUE)
STATUS = metric("cluster_queue_status", "1 for the status of the ClusterQueue.", CLUSTER_QUEUE, "status")
_STATUSES = ("pending", "active", "terminating")

LOCAL_PENDING = local_metric("pending_workloads", "Pending Workloads of the LocalQueue, by status.", "status")
LOCAL_RESERVING = local_metric("reserving_active_workloads", "Workloads with reserved quota.")
LOCAL_ADMITTED = local_metric("admitted_active_workloads", "Workloads that are admitted.")


@source(World, PENDING, RESERVING, ADMITTED, STATUS)
def cluster_queues(world: World) -> Iterator[Sample]:
    for queue in world.state.queues.values():
        pending = world.queues.pending[queue.name]
        active = pending.count_active() if world.is_ready(queue.name) else 0  # an inactive queue tries no workload
        yield PENDING.sample(active, queue.name, "active")
        yield PENDING.sample(len(pending) - active, queue.name, "inadmissible")
        yield RESERVING.sample(queue.usage.reserving, queue.name)
        yield ADMITTED.sample(queue.usage.admitted, queue.name)
        now = _status(world, queue)
        for each in _STATUSES:
            yield STATUS.sample(each == now, queue.name, each)


def _status(world: World, queue: ClusterQueueState) -> str:
    if queue.name in world.terminating:
        return "terminating"
    return "active" if readiness_of(world, queue.name).holds else "pending"


@source(World, LOCAL_PENDING, LOCAL_RESERVING, LOCAL_ADMITTED)
def local_queues(world: World) -> Iterator[Sample]:
    for key, local in world.queues.local_queues.items():
        queue, names = world.state.queues.get(local.cluster_queue), (local.name, local.namespace)
        usage = queue.usage_by_local_queue.get(key) if queue is not None else None
        if not local.stopped:
            active, waiting = _waiting(world, local.cluster_queue, key)
            yield LOCAL_PENDING.sample(active, *names, "active")
            yield LOCAL_PENDING.sample(waiting - active, *names, "inadmissible")
        yield LOCAL_RESERVING.sample(usage.reserving if usage is not None else 0, *names)
        yield LOCAL_ADMITTED.sample(usage.admitted if usage is not None else 0, *names)


def _waiting(world: World, queue: str, local: str) -> tuple[int, int]:
    """The number of waiting workloads that will be tried, and of all waiting ones. An inactive queue tries none."""
    keys = [workload.key for workload in world.queues.waiting_at(local)]
    pending = world.queues.pending.get(queue)
    if pending is None or not world.is_ready(queue):
        return 0, len(keys)
    return sum(map(pending.is_active, keys)), len(keys)
