"""Workloads that are not admitted, by reason. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, WHY, gauge, local_gauge
from reconciler.metrics.source import source
from reconciler.metrics.standing import Standing

UNADMITTED = gauge("unadmitted_workloads", "Workloads that are not admitted, by reason.", CLUSTER_QUEUE, *WHY)
LOCAL_UNADMITTED = local_gauge("unadmitted_workloads", "Workloads that are not admitted, by reason.", *WHY)


@source(Standing, UNADMITTED, LOCAL_UNADMITTED)
def unadmitted(standing: Standing) -> Iterator[Sample]:
    for (queue, why), count in standing.by_queue().items():
        if why is not None:
            yield UNADMITTED.sample(count, queue, *why)
    for place, count in standing.counts():
        if place.why is not None:
            yield LOCAL_UNADMITTED.sample(count, *place.local, *place.why)
