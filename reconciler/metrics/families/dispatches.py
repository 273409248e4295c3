"""The worker clusters of ClusterQueues, and the Workloads that are dispatched to them.

Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue; v0.20 for `multikueue_cluster_status` and
`multikueue_workloads_evicted_total`.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, metric
from reconciler.metrics.occasions import Dispatches, WorkloadChange
from reconciler.metrics.source import source

_LABELS = (CLUSTER_QUEUE, "cluster")
DISPATCHED = metric(
    "workloads_dispatched_total", "Workloads that were created on a worker.", *_LABELS, subsystem="multikueue"
)
ADMITTED = metric("workloads_admitted_total", "Workloads that a worker admitted.", *_LABELS, subsystem="multikueue")
STATUS = metric(
    "cluster_status",
    "1 for the status of the worker's condition Active: True, False or Unknown.",
    *_LABELS,
    "active",
    subsystem="multikueue",
)
EVICTED = metric(
    "workloads_evicted_total",
    "Evictions by the worker that runs the Workload.",
    *_LABELS,
    "reason",
    subsystem="multikueue",
)
_STATUSES = ("True", "False", "Unknown")


@source(Dispatches, STATUS)
def statuses(dispatches: Dispatches) -> Iterator[Sample]:
    for labels, status in dispatches.statuses.items():
        for each in _STATUSES:
            yield STATUS.sample(status == each, *labels, each)


@source(Dispatches, DISPATCHED)
def dispatched(dispatches: Dispatches) -> Iterator[Sample]:
    for labels, count in dispatches.counts.items():
        yield DISPATCHED.sample(count, *labels)


@source(Dispatches, EVICTED)
def evicted(dispatches: Dispatches) -> Iterator[Sample]:
    for labels, count in dispatches.evictions.items():
        yield EVICTED.sample(count, *labels)


@source(WorkloadChange, ADMITTED)
def admitted(change: WorkloadChange) -> Iterator[Sample]:
    if change.after.cluster and change.before.cluster != change.after.cluster:
        yield ADMITTED.sample(1, change.queue, change.after.cluster)
