"""Evictions and preemptions. Source: Kueue v0.19, the callers of pkg/metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, PRIORITY_CLASS, WAITS, WHY, metric, seconds_between, twins
from reconciler.metrics.occasions import WorkloadChange
from reconciler.metrics.source import source
from scheduling.objects.times import SECOND
from scheduling.objects.workload import EVICTED, PODS_READY, PREEMPTED, Eviction, Workload
from scheduling.status.eviction import pending_again

EVICTIONS = twins("evicted_workloads_total", "Evictions of Workloads.", *WHY, PRIORITY_CLASS)
EVICTED_ONCE = metric(
    "evicted_workloads_once_total",
    "Workloads that were evicted for a reason for the first time.",
    *(CLUSTER_QUEUE, *WHY, PRIORITY_CLASS),
)
READY_EVICTED = metric(
    "pods_ready_to_evicted_time_seconds", "From ready pods to eviction.", CLUSTER_QUEUE, *WHY, buckets=WAITS
)
PREEMPTIONS = metric("preempted_workloads_total", "Evictions by preemption.", "preempting_cluster_queue", "reason")
LATENCY = metric(
    "workload_eviction_latency_seconds",
    "From eviction to the release of quota.",
    CLUSTER_QUEUE,
    "reason",
    buckets=WAITS,
)
_PREEMPTOR = re.compile(r"preemptor path: \S*?([^/;\s]+);")
"""Finds the preemptor's ClusterQueue in the message of the condition Preempted."""


@source(WorkloadChange, *EVICTIONS, EVICTED_ONCE, READY_EVICTED)
def evictions(change: WorkloadChange) -> Iterator[Sample]:
    if change.before.admission is None:
        return
    queue, of_class = change.queue, change.priority_class
    evicted, ready = change.new(EVICTED), change.before.holding(PODS_READY)
    for each in _counted_anew(change.before, change.after):
        yield from EVICTIONS.samples(1, queue, change.local, each.reason, each.cause, of_class)
        if each.count == 1:
            yield EVICTED_ONCE.sample(1, queue, each.reason, each.cause, of_class)
        if evicted is not None and ready is not None:
            yield READY_EVICTED.sample(seconds_between(ready.since, evicted.since), queue, each.reason, each.cause)


@source(WorkloadChange, PREEMPTIONS)
def preemptions(change: WorkloadChange) -> Iterator[Sample]:
    preempted = change.new(PREEMPTED)
    if preempted is not None:
        found = _PREEMPTOR.search(preempted.message)
        yield PREEMPTIONS.sample(1, found[1] if found else "", preempted.reason)


@source(WorkloadChange, LATENCY)
def latency(change: WorkloadChange) -> Iterator[Sample]:
    released = pending_again(change.before, change.after, change.now)
    if released is not None:
        yield LATENCY.sample(max(0, released.latency) / SECOND, released.cluster_queue, released.reason)


def _counted_anew(before: Workload, after: Workload) -> Iterator[Eviction]:
    """The entries of `status.schedulingStats` that have increased. It counts evictions by reason and cause."""
    known = {(each.reason, each.cause): each.count for each in before.evictions}
    for each in after.evictions:
        if each.count > known.get((each.reason, each.cause), 0):
            yield each
