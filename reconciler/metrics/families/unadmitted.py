"""Workloads that are not admitted, by reason. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from policies.configuration.kueue.values import UNADMITTED_WORKLOADS
from reconciler.metrics.kueue import CLUSTER_QUEUE, WHY, gauge, local_gauge
from reconciler.metrics.pending_counts import PendingCounts
from reconciler.metrics.source import source

_SAYS = "Workloads that are not admitted, by reason."
UNADMITTED = gauge("unadmitted_workloads", _SAYS, CLUSTER_QUEUE, *WHY, switches=(UNADMITTED_WORKLOADS,))
LOCAL_UNADMITTED = local_gauge("unadmitted_workloads", _SAYS, CLUSTER_QUEUE, *WHY, switches=(UNADMITTED_WORKLOADS,))


@source(PendingCounts, UNADMITTED, LOCAL_UNADMITTED)
def unadmitted(pending: PendingCounts) -> Iterator[Sample]:
    for (queue, why), count in pending.by_queue().items():
        if why is not None:
            yield UNADMITTED.sample(count, queue, *why)
    for place, count in pending.counts():
        if place.why is not None:
            yield LOCAL_UNADMITTED.sample(count, *place.local, place.queue, *place.why)
