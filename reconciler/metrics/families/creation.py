"""The time from the creation of a job to its Workload. Source: Kueue v0.19, pkg/controller/jobframework."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from policies.configuration.kueue.values import CREATION_LATENCY
from reconciler.metrics.kueue import waiting_times
from reconciler.metrics.occasions import WorkloadCreated
from reconciler.metrics.source import source

LATENCY = waiting_times(
    "workload_creation_latency_seconds",
    "From a job that nobody changed yet to its Workload.",
    "job_kind",
    switches=(CREATION_LATENCY,),
)


@source(WorkloadCreated, LATENCY)
def creations(created: WorkloadCreated) -> Iterator[Sample]:
    yield LATENCY.sample(created.seconds, created.job_kind)
