"""Metrics that the configuration leaves out, by their names.

Source: Kueue v0.19, metrics.enableClusterQueueResources and metrics.localQueueMetrics.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

_RESOURCES = (
    "kueue_cluster_queue_resource_",
    "kueue_cluster_queue_nominal_quota",
    "kueue_cluster_queue_borrowing_limit",
    "kueue_cluster_queue_lending_limit",
    "kueue_cohort_subtree_quota",
    "kueue_cohort_subtree_resource_reservations",
)
_LOCAL_QUEUES = ("kueue_local_queue_",)


class Chosen(CollectorRegistry):
    """`resources`: also quota and usage by flavor and resource. `local_queues`: also what tells LocalQueues apart."""

    def __init__(self, *, resources: bool = True, local_queues: bool = True) -> None:
        super().__init__()
        self._left_out = (*(() if resources else _RESOURCES), *(() if local_queues else _LOCAL_QUEUES))

    def collect(self) -> Iterator[Metric]:
        """All that are not left out."""
        for metric in super().collect():
            if not metric.name.startswith(self._left_out):
                yield metric
