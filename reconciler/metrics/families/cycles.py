"""Cycles of the engine. Source: Kueue v0.19, pkg/metrics/metrics.go."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from reconciler.metrics.kueue import CLUSTER_QUEUE, SHORT_TIMES, counter, gauge, waiting_times
from reconciler.metrics.occasions import CycleDecided
from reconciler.metrics.pending_counts import PendingCounts
from reconciler.metrics.source import source
from scheduling.cycle.cycle import DEFERRED
from scheduling.queues.pending import Requeue
from scheduling.world.decisions import Reserve, Wait

ATTEMPTS = counter(
    "admission_attempts_total", "Scheduling cycles; the result is success if a Workload got quota.", "result"
)
DURATION = waiting_times(
    "admission_attempt_duration_seconds", "Duration of a scheduling cycle.", "result", buckets=SHORT_TIMES
)
SKIPS = gauge(
    "admission_cycle_preemption_skips",
    "Workloads that the last cycle skipped, because another workload preempts their victims.",
    CLUSTER_QUEUE,
)

RECOMPUTATIONS = counter(
    "preemption_target_recomputations_total",
    "Searches for other victims, because another workload of the cycle preempts the first ones; the result is "
    "new_targets, deferred_fit or skipped.",
    CLUSTER_QUEUE,
    "result",
)


@source(CycleDecided, ATTEMPTS, DURATION)
def cycles(cycle: CycleDecided) -> Iterator[Sample]:
    result = "success" if any(isinstance(each, Reserve) for each in cycle.decisions) else "inadmissible"
    yield ATTEMPTS.sample(1, result)
    yield DURATION.sample(cycle.seconds, result)


@source(CycleDecided, RECOMPUTATIONS)
def recomputations(cycle: CycleDecided) -> Iterator[Sample]:
    for each in cycle.decisions:
        if isinstance(each, Wait) and each.recomputed:
            yield RECOMPUTATIONS.sample(1, each.queue, _result(each))


def _result(decision: Wait) -> str:
    if decision.message == DEFERRED:
        return "deferred_fit"
    return "new_targets" if decision.requeue == Requeue.PENDING_PREEMPTION else "skipped"


@source(PendingCounts, SKIPS)
def skips(pending: PendingCounts) -> Iterator[Sample]:
    for queue, count in pending.skipped.items():
        yield SKIPS.sample(count, queue)
