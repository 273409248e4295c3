"""Cycles of the engine. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Histogram

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, counter, gauge, waiting_times
from reconciler.metrics.occasions import CycleDecided
from reconciler.metrics.source import source
from reconciler.metrics.standing import StandingWork
from scheduling.world.decisions import Reserve

ATTEMPTS = counter("admission_attempts_total", "Cycles of the engine; success where a Workload got quota.", "result")
DURATION = waiting_times(
    "admission_attempt_duration_seconds",
    "Duration of a cycle.",
    "result",
    buckets=Histogram.DEFAULT_BUCKETS,
)
SKIPS = gauge(
    "admission_cycle_preemption_skips", "Workloads of the last cycle whose victims others took.", CLUSTER_QUEUE
)


@source(CycleDecided, ATTEMPTS, DURATION)
def cycles(cycle: CycleDecided) -> Iterator[Sample]:
    result = "success" if any(isinstance(each, Reserve) for each in cycle.decisions) else "inadmissible"
    yield ATTEMPTS.sample(1, result)
    yield DURATION.sample(cycle.seconds, result)


@source(StandingWork, SKIPS)
def skips(standing: StandingWork) -> Iterator[Sample]:
    for queue, count in standing.skipped.items():
        yield SKIPS.sample(count, queue)
