"""What metrics tell of each worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from scheduling.objects import times
from scheduling.objects.times import SECOND

log = logging.getLogger(__name__)
_STATES = ("connected", "connecting", "lost", "misconfigured")


class WorkersCollector(Collector):
    """`ask` gives what /v1/clusters tells; it may raise TimeoutError where the loop has no time."""

    def __init__(self, ask: Callable[[], dict[str, Any]]) -> None:
        self._ask = ask

    def collect(self) -> Iterable[Metric]:
        try:
            items = self._ask()["items"]
        except TimeoutError:
            log.warning("the loop had no time to tell of workers")
            return
        labels = ["cluster"]
        state = GaugeMetricFamily(
            "quotree_multikueue_connection", "1 for the state that the worker is in.", labels=["cluster", "state"]
        )
        placed = GaugeMetricFamily("quotree_multikueue_placed_workloads", "Workloads that run there.", labels=labels)
        seen = GaugeMetricFamily(
            "quotree_multikueue_last_seen_timestamp_seconds", "When it answered last.", labels=labels
        )
        ends = GaugeMetricFamily(
            "quotree_multikueue_credentials_end_timestamp_seconds", "When its credentials end.", labels=labels
        )
        losses = CounterMetricFamily(
            "quotree_multikueue_connection_losses", "How often its connection broke.", labels=labels
        )
        for item in items:
            name = [item["name"]]
            for each in _STATES:
                state.add_metric([*name, each], float(item["connection"] == each))
            placed.add_metric(name, item["placed"])
            losses.add_metric(name, item["losses"])
            for family, key in ((seen, "lastSeen"), (ends, "credentialsEnd")):
                if item[key] is not None:
                    family.add_metric(name, times.parse(item[key]) / SECOND)
        yield from (state, placed, seen, ends, losses)
