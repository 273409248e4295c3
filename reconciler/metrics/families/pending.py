"""Workloads that are not admitted: their requests, the number of distinct ones, and the reasons.

Source: Kueue v0.19, pkg/cache/queue and pkg/metrics/metrics.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cluster.metrics import Sample
from policies.configuration.kueue.values import CLUSTER_QUEUE_RESOURCES, UNADMITTED_WORKLOADS
from reconciler.metrics.kueue import CLUSTER_QUEUE, WHY, local_metric, metric
from reconciler.metrics.pending_counts import PendingCounts, Unadmitted
from reconciler.metrics.source import source
from scheduling.objects.amounts import Requests, approximate, plus, total
from scheduling.objects.requests import total_requests
from scheduling.queues.pending import PendingEntry
from scheduling.world.world import World

HASHES = metric(
    "pending_scheduling_hashes",
    "Distinct pending Workloads, by status: Workloads that are equal for decisions count once.",
    *(CLUSTER_QUEUE, "status"),
)
REQUESTED = metric(
    "cluster_queue_resource_pending",
    "Requests of pending Workloads.",
    *(CLUSTER_QUEUE, "resource"),
    switches=(CLUSTER_QUEUE_RESOURCES,),
)


@source(World, HASHES, REQUESTED)
def waiting(world: World) -> Iterator[Sample]:
    """The pending requests for every resource of a ClusterQueue, even if they are 0, and the distinct Workloads.

    In an inactive queue all Workloads are inadmissible. Resources that only Workloads name have no series, because any
    user can name new ones.
    """
    covered = {pair.resource for queue in world.state.queues.values() for pair in queue.settings.terms}
    for queue in world.state.queues.values():
        ready = world.is_ready(queue.name)
        hashes: dict[bool, set[object]] = {True: set(), False: set()}
        requested = {pair.resource: 0 for pair in queue.settings.terms}
        for entry, count, active in world.queues.pending[queue.name].sorts():
            hashes[active and ready].add(entry.scheduling_hash)
            for resource, amount in _requests(world, entry).items():
                if resource in covered:
                    requested[resource] = plus(requested.get(resource, 0), amount * count)
        yield HASHES.sample(len(hashes[True]), queue.name, "active")
        yield HASHES.sample(len(hashes[False]), queue.name, "inadmissible")
        for resource, amount in requested.items():
            yield REQUESTED.sample(approximate(resource, amount), queue.name, resource)


def _requests(world: World, entry: PendingEntry) -> Requests:
    """The requests of all pods of a Workload. They are cached with the entry, because it takes long to compute them."""
    if entry.requests is None:
        entry.requests = total_requests(entry.workload, world.counting)
    return total(each.requests for each in entry.requests)


_SAYS = "Workloads that are not admitted, by reason."
UNADMITTED = metric("unadmitted_workloads", _SAYS, CLUSTER_QUEUE, *WHY, switches=(UNADMITTED_WORKLOADS,))
LOCAL_UNADMITTED = local_metric("unadmitted_workloads", _SAYS, CLUSTER_QUEUE, *WHY, switches=(UNADMITTED_WORKLOADS,))


@source(PendingCounts, UNADMITTED, LOCAL_UNADMITTED)
def unadmitted(pending: PendingCounts) -> Iterator[Sample]:
    queues: Counter[tuple[str, Unadmitted]] = Counter()
    for place, count in pending.counts().items():
        if place.why is not None:
            queues[place.queue, place.why] += count
            yield LOCAL_UNADMITTED.sample(count, *place.local, place.queue, *place.why)
    yield from (UNADMITTED.sample(count, queue, *why) for (queue, why), count in queues.items())
