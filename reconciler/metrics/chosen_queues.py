"""Which LocalQueues have metrics: those whose labels match the administrator's selector.

Source: Kueue v0.19, metrics.localQueueMetrics.localQueueSelector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client.metrics_core import Metric

from policies.dialects.selectors import LabelSelector, read_label_selector
from reconciler.metrics.kueue import LOCAL_QUEUE
from reconciler.objects.observed import Observed

_LOCAL = "kueue_local_queue_"


class ChosenQueues:
    """The LocalQueues that have metrics. Call `put` in the loop's thread.

    `selector`: a Kubernetes label selector; None selects all LocalQueues.
    """

    def __init__(self, selector: Mapping[str, Any] | None = None) -> None:
        self._selector = read_label_selector(selector) or LabelSelector()
        self._left_out: set[str] = set()

    def put(self, observed: Observed[object]) -> None:
        kind, name = observed.key
        if kind != "LocalQueue":
            return
        if observed.stored is not None and not self._selector.matches(observed.stored.labels):
            self._left_out.add(name)
        else:
            self._left_out.discard(name)

    def kept(self, metric: Metric) -> Metric:
        """The metric without the series of LocalQueues that are not selected."""
        if not self._left_out or not metric.name.startswith(_LOCAL):
            return metric
        name, namespace = LOCAL_QUEUE
        made = Metric(metric.name, metric.documentation, metric.type, metric.unit)
        made.samples = [
            each
            for each in metric.samples
            if f"{each.labels.get(namespace)}/{each.labels.get(name)}" not in self._left_out
        ]
        return made
