"""What /metrics shows: how the reconciler itself does, and what Kueue shows where it stands in Kueue's place."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from reconciler.loop import Loop
from reconciler.metrics import FOLLOWER, LEADER, Ask, WorldCollector
from reconciler.multikueue.exported import WorkersCollector
from reconciler.multikueue.told import clusters_json
from reconciler.observed import PATIENCE as PATIENCE_OF_OTHERS
from reconciler.observed import Difference, Kind, Observer, Result
from reconciler.process import Reconciler
from reconciler.tally import Tally
from reconciler.visible.clusters import clusters
from reconciler.witness import Witness
from scheduling.world.world import World

log = logging.getLogger(__name__)
PATIENCE = 2.0
"""Seconds that a scrape waits for the loop; Prometheus gives up after ten."""
ROUNDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; a round of an idle cluster takes about the first."""
Held = Callable[[], bool]


class Counting:
    """Counts as the loop goes on: rounds, and what happens to Workloads; without `kueue`, beside another controller,
    how that one decides. `leads` as for `Tally`.
    """

    def __init__(self, loop: Loop, leads: Held, registry: CollectorRegistry, *, kueue: bool) -> None:
        told: Witness = Tally(loop.world, leads, registry) if kueue else compared(registry, loop)
        text = "Time of a round of the loop, beside waiting."
        self._rounds = Histogram("quotree_reconciler_round_seconds", text, buckets=ROUNDS, registry=registry)
        self._told = told
        self.changing, self.changed, self.decided = told.changing, told.changed, told.decided

    def passed(self, now: int, seconds: float) -> None:
        self._rounds.observe(seconds)
        self._told.passed(now, seconds)


def compared(registry: CollectorRegistry, loop: Loop, patience: int = PATIENCE_OF_OTHERS) -> Observer:
    """Compares what another controller decides with what ours would; tells the log and the registry."""
    text = "Decisions of the other controller that were compared with ours."
    results = Counter("quotree_observe_decisions", text, ["result"], registry=registry)
    text = "Decisions that differ from ours, or that ours would have made and the other has not."
    kinds = Counter("quotree_observe_differences", text, ["kind"], registry=registry)
    for result in Result:
        results.labels(result.value)
    for kind in Kind:
        kinds.labels(kind.value)

    def tell(result: Result, difference: Difference | None) -> None:
        results.labels(result.value).inc()
        if difference is not None:
            kinds.labels(difference.kind.value).inc()
            log.warning("decided otherwise: %s", difference.kind, extra={"fields": difference._asdict()})

    return Observer(loop.world, tell, lambda: loop.complete, patience)


def export(registry: CollectorRegistry, reconciler: Reconciler, held: Held, *, kueue: bool) -> None:
    """`held`: whether this process may write. `kueue`: nobody else shows metrics of that name for this cluster."""
    registry.register(Vitals(reconciler, held))
    if reconciler.away is not None:
        registry.register(WorkersCollector(lambda: _workers(reconciler)))
    if kueue:
        build = Gauge("kueue_build_info", "1; what runs in the place of Kueue.", _BUILD, registry=registry)
        build.labels(f"quotree-{_version()}", "", "", platform.python_version(), platform.python_implementation(),
                     platform.machine()).set(1)  # fmt: skip
        registry.register(WorldCollector(asking(reconciler), role=lambda: LEADER if held() else FOLLOWER))


_BUILD = ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform")


def asking(reconciler: Reconciler, patience: float = PATIENCE) -> Ask:
    """Reads the world between two steps of the loop; nothing where that has no time, so that the rest is shown."""

    def ask(read: Callable[[World], list[Metric]]) -> list[Metric]:
        try:
            return reconciler.ask(lambda loop: read(loop.world), timeout=patience)
        except TimeoutError:
            log.warning("the loop had no time for a scrape within %g s", patience)
            return []

    return ask


def _workers(reconciler: Reconciler) -> dict[str, Any]:
    """Raises TimeoutError where the loop has no time."""
    return clusters_json(reconciler.ask(clusters, timeout=PATIENCE), named=False)


class Vitals(Collector):
    """How the loop does; read while it runs on, so one number may be a step ahead of another."""

    def __init__(self, reconciler: Reconciler, held: Held) -> None:
        self._reconciler = reconciler
        self._held = held

    def collect(self) -> Iterable[Metric]:
        loop, stats = self._reconciler.loop, self._reconciler.loop.stats

        def gauge(name: str, text: str, value: float) -> Metric:
            return GaugeMetricFamily(f"quotree_reconciler_{name}", text, value)

        def counter(name: str, text: str, value: float) -> Metric:
            return CounterMetricFamily(f"quotree_reconciler_{name}", text, value)

        yield gauge("writes", "1 while this process may write.", self._held())
        yield gauge("synced", "1 when every kind was listed.", self._reconciler.ready)
        yield gauge("paused", "1 while the API server fails and is left alone.", loop.retries.paused)
        yield gauge("inbox", "What was seen and not taken in yet.", loop.inbox.qsize())
        yield gauge("under_way", "Writes that were asked for and not answered yet.", loop.under_way.count)
        yield counter("written", "Writes that were carried out.", stats.written)
        yield counter("failed", "Writes that failed, or of which nobody knows.", stats.failed)
        yield counter("cycles", "Cycles of the engine.", stats.cycles)


def _version() -> str:
    try:
        return version("quotree")
    except PackageNotFoundError:
        return "unknown"
