"""The registry, which leaves out what the configuration leaves out.

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
    """`switched_off`: the keys of the configuration that leave metrics out, see `Family.switches`. `labels` are added
    to the others, `queues` says which LocalQueues have any."""

    def __init__(
        self,
        switched_off: Collection[str] = (),
        labels: CustomLabels = _NO_LABELS,
        queues: ChosenQueues = _ALL_QUEUES,
    ) -> None:
        super().__init__()
        self._labels = labels
        self._queues = queues
        self._switched_off = frozenset(switched_off)

    def collect(self) -> Iterator[Metric]:
        """All that are not left out."""
        unwanted = left_out(self._switched_off)
        for metric in super().collect():
            if (metric.name, metric.type) not in unwanted:
                yield self._labels.added(self._queues.kept(metric))
