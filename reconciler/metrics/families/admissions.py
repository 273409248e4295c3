"""Quota reservations and admissions, and the waiting times from the creation of a job to Pods without a gate.

`twins` are two metrics: one by ClusterQueue and one by LocalQueue.
Source: Kueue v0.19, the callers of pkg/metrics.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Sample
from policies.configuration.kueue.values import CREATION_LATENCY
from reconciler.metrics.kueue import (
    CLUSTER_QUEUE,
    COHORT,
    LONG_WAITS,
    PRIORITY_CLASS,
    SHORT_TIMES,
    WAITS,
    metric,
    seconds_between,
    twins,
)
from reconciler.metrics.occasions import GateRemoved, WorkloadChange, WorkloadCreated
from reconciler.metrics.source import source
from reconciler.objects.following import queued_since
from scheduling.objects.workload import ADMITTED, PODS_READY, QUOTA_RESERVED
from scheduling.status.deadlines import RECOVERED, STARTED

RESERVED = twins("quota_reserved_workloads_total", "Workloads that reserved quota.", PRIORITY_CLASS)
RESERVED_WAIT = twins(
    "quota_reserved_wait_time_seconds", "From creation or requeuing to quota.", PRIORITY_CLASS, buckets=WAITS
)
ADMISSIONS = twins("admitted_workloads_total", "Workloads that were admitted.", PRIORITY_CLASS)
ADMISSION_WAIT = twins(
    "admission_wait_time_seconds",
    "From creation or requeuing to admission.",
    PRIORITY_CLASS,
    buckets=LONG_WAITS,
    local_buckets=WAITS,
)
CHECKS_WAIT = twins(
    "admission_checks_wait_time_seconds",
    "From quota to admission of a Workload with admission checks.",
    PRIORITY_CLASS,
    buckets=WAITS,
)
BELOW = metric(
    "cohort_subtree_admitted_workloads_total", "Workloads that were admitted below the Cohort.", COHORT, PRIORITY_CLASS
)
READY_WAIT = twins(
    "ready_wait_time_seconds", "From creation or requeuing to pods that are ready.", PRIORITY_CLASS, buckets=WAITS
)
ADMITTED_READY = twins(
    "admitted_until_ready_wait_time_seconds", "From admission to pods that are ready.", PRIORITY_CLASS, buckets=WAITS
)

RECOVERY_WAIT = twins(
    "workload_recovery_wait_time_seconds",
    "From pods that failed to pods that are ready again.",
    PRIORITY_CLASS,
    buckets=WAITS,
)


@source(WorkloadChange, *RESERVED, *RESERVED_WAIT)
def reservations(change: WorkloadChange) -> Iterator[Sample]:
    reserved = change.new(QUOTA_RESERVED)
    if reserved is not None:
        labels = change.queue, change.local, change.priority_class
        yield from RESERVED.samples(1, *labels)
        waited = seconds_between(queued_since(change.before), reserved.since)
        yield from RESERVED_WAIT.samples(waited, *labels)


@source(WorkloadChange, *ADMISSIONS, *ADMISSION_WAIT, *CHECKS_WAIT, BELOW)
def admissions(change: WorkloadChange) -> Iterator[Sample]:
    admitted, reserved = change.new(ADMITTED), change.after.conditions.get(QUOTA_RESERVED)
    if admitted is not None and reserved is not None:
        labels = change.queue, change.local, change.priority_class
        yield from ADMISSIONS.samples(1, *labels)
        waited = seconds_between(queued_since(change.before), admitted.since)
        yield from ADMISSION_WAIT.samples(waited, *labels)
        if change.after.checks:
            yield from CHECKS_WAIT.samples(seconds_between(reserved.since, admitted.since), *labels)
        for cohort in change.cohorts_above(change.queue):
            yield BELOW.sample(1, cohort, change.priority_class)


@source(WorkloadChange, *RECOVERY_WAIT)
def recoveries(change: WorkloadChange) -> Iterator[Sample]:
    ready, failed = change.new(PODS_READY), change.before.conditions.get(PODS_READY)
    if ready is not None and ready.reason == RECOVERED and failed is not None:
        waited = seconds_between(failed.since, ready.since)
        yield from RECOVERY_WAIT.samples(waited, change.queue, change.local, change.priority_class)


@source(WorkloadChange, *READY_WAIT, *ADMITTED_READY)
def readiness(change: WorkloadChange) -> Iterator[Sample]:
    """The time until the pods were ready after a start. A recovery is not counted, because they were ready before."""
    ready, admitted = change.new(PODS_READY), change.after.holding(ADMITTED)
    if ready is not None and ready.reason == STARTED and admitted is not None:
        labels = change.queue, change.local, change.priority_class
        yield from READY_WAIT.samples(seconds_between(queued_since(change.after), ready.since), *labels)
        yield from ADMITTED_READY.samples(seconds_between(admitted.since, ready.since), *labels)


CREATION_WAIT = metric(
    "workload_creation_latency_seconds",
    "From the creation of an unchanged job to its Workload.",
    "job_kind",
    buckets=tuple(0.01 * 2**step for step in range(11)),
    switches=(CREATION_LATENCY,),
)


@source(WorkloadCreated, CREATION_WAIT)
def creations(created: WorkloadCreated) -> Iterator[Sample]:
    yield CREATION_WAIT.sample(created.seconds, created.job_kind)


GATE_WAIT = metric(
    "pod_scheduling_gate_removal_seconds",
    "From admission to a Pod without its scheduling gate.",
    *(CLUSTER_QUEUE, "name", "is_group"),
    buckets=SHORT_TIMES,
)


@source(GateRemoved, GATE_WAIT)
def removals(removed: GateRemoved) -> Iterator[Sample]:
    yield GATE_WAIT.sample(removed.seconds, removed.queue, removed.gate, str(removed.in_group).lower())
