"""Workloads that finished. Source: Kueue v0.19, the callers of pkg/metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import (
    CLUSTER_QUEUE,
    LONG_WAITS,
    PRIORITY_CLASS,
    counter,
    counter_twins,
    gauge,
    local_gauge,
    seconds_between,
    waiting_time_twins,
)
from reconciler.metrics.occasions import WorkloadChange
from reconciler.metrics.pending_counts import PendingCounts
from reconciler.metrics.source import source
from scheduling.objects.workload import ADMITTED, FINISHED, SLICE_REPLACED

ENDS = counter_twins("finished_workloads_total", "Workloads that finished.", PRIORITY_CLASS)
EXECUTION = waiting_time_twins(
    "execution_time_seconds",
    "Total time for which a finished Workload was admitted.",
    PRIORITY_CLASS,
    buckets=LONG_WAITS,
    local_buckets=LONG_WAITS,
)
REPLACED = counter(
    "replaced_workload_slices_total", "Slices of elastic jobs whose quota another slice took over.", CLUSTER_QUEUE
)
STORED = gauge("finished_workloads", "Finished Workloads that still exist.", CLUSTER_QUEUE)
LOCAL_STORED = local_gauge("finished_workloads", "Finished Workloads that still exist.")


@source(WorkloadChange, *ENDS, *EXECUTION)
def ends(change: WorkloadChange) -> Iterator[Sample]:
    finished, admitted = change.new(FINISHED), change.before.holding(ADMITTED)
    if finished is not None:
        yield from ENDS.samples(1, change.queue, change.local, change.priority_class)
    if finished is not None and admitted is not None:
        ran = (change.before.past_seconds or 0) + seconds_between(admitted.since, finished.since)
        yield from EXECUTION.samples(ran, change.queue, change.local, change.priority_class)


@source(WorkloadChange, REPLACED)
def replaced(change: WorkloadChange) -> Iterator[Sample]:
    finished = change.new(FINISHED)
    if finished is not None and finished.reason == SLICE_REPLACED:
        yield REPLACED.sample(1, change.queue)


@source(PendingCounts, STORED, LOCAL_STORED)
def stored(pending: PendingCounts) -> Iterator[Sample]:
    queues = Counter(dict.fromkeys(pending.queues, 0))
    local_queues = Counter(dict.fromkeys(pending.local_queues, 0))
    for place, count in pending.counts().items():
        if place.why is None:
            queues[place.queue] += count
            local_queues[place.local] += count
    yield from (STORED.sample(count, queue) for queue, count in queues.items())
    yield from (LOCAL_STORED.sample(count, *local) for local, count in local_queues.items())
