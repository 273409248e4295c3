"""Pods whose gate was removed because their Workload is admitted. Source: Kueue v0.19, pkg/util/pod."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, waiting_times
from reconciler.metrics.occasions import GateRemoved
from reconciler.metrics.source import source

REMOVAL = waiting_times(
    "pod_scheduling_gate_removal_seconds",
    "From admission to a Pod without its scheduling gate.",
    *(CLUSTER_QUEUE, "name", "is_group"),
)


@source(GateRemoved, REMOVAL)
def removals(removed: GateRemoved) -> Iterator[Sample]:
    yield REMOVAL.sample(removed.seconds, removed.queue, removed.gate, str(removed.in_group).lower())
