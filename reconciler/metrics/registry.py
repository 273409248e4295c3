"""A registry that omits the metrics that the configuration switches off.

Source: Kueue v0.19, metrics.enableClusterQueueResources and metrics.localQueueMetrics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from reconciler.metrics.catalogue import left_out
from reconciler.metrics.chosen_queues import ChosenQueues
from reconciler.metrics.custom_labels import CustomLabels

_NO_LABELS, _ALL_QUEUES = CustomLabels(), ChosenQueues()


class ChosenRegistry(CollectorRegistry):
    """A registry that omits some metrics, and adds labels to the others.

    `switched_off`: the configuration keys that switch metrics off, see `Family.switches`.
    `labels`: the custom labels to add.
    `queues`: the LocalQueues that have metrics.
    """

    def __init__(
        self, switched_off: Collection[str] = (), labels: CustomLabels = _NO_LABELS, queues: ChosenQueues = _ALL_QUEUES
    ) -> None:
        super().__init__()
        self._labels = labels
        self._queues = queues
        self._switched_off = frozenset(switched_off)

    def collect(self) -> Iterator[Metric]:
        unwanted = left_out(self._switched_off)
        for metric in super().collect():
            if (metric.name, metric.type) not in unwanted:
                yield self._labels.added(self._queues.kept(metric))
