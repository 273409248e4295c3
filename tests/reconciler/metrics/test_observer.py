"""Metrics of changes of Workloads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from policies.dialects.kueue_workload import PriorityClassReference
from reconciler.core.state import ClusterState
from reconciler.metrics.observer import KueueObserver
from reconciler.metrics.pending_counts import unadmitted
from reconciler.objects.observed import Observed
from scheduling.cycle.cycle import DEFERRED, OVERLAPPING
from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.objects.times import SECOND
from scheduling.objects.workload import PODS_READY, Admission, CheckState, Workload
from scheduling.queues.pending import Requeue
from scheduling.status.conditions import with_condition
from scheduling.status.deadlines import release
from scheduling.status.eviction import evict, preempt
from scheduling.status.progress import finish
from scheduling.status.reservation import reserve, sync_admitted, unreserve
from scheduling.world.decisions import Wait
from tests.reconciler.two_queues import NOW, world
from tests.scheduling.cluster import GRANULAR
from tests.scheduling.manifests import workload

NEW = replace(
    workload(uid="u", spec={"queueName": "q"}),
    created=NOW - 60 * SECOND,
    priority_class=PriorityClassReference("kueue.x-k8s.io", "WorkloadPriorityClass", "high"),
)
HELD = reserve(NEW, Admission("q"), NOW)
ADMITTED = sync_admitted(HELD, NOW + 5 * SECOND)


class Counted:
    """An observer and its registry."""

    def __init__(self, leads: bool = True) -> None:
        self.leads = leads
        self.registry = CollectorRegistry()
        self.state = ClusterState(world())
        self.observer = KueueObserver(self.state, lambda: self.leads, self.registry)
        self._last: Observed | None = None

    def see(self, *states: Workload | None, kind: str = "Workload", name: str = "ns/w") -> None:
        for state in states:
            seen = Observed((kind, name), "", state)
            self.observer.changing(self._last, seen, NOW + 100 * SECOND)
            self._last = seen if state is not None else None

    def value(self, metric: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(
            f"kueue_{metric}", {**labels, "replica_role": "leader" if self.leads else "follower"}
        )

    def both(self, metric: str, **labels: str) -> tuple[float | None, float | None]:
        """The value by ClusterQueue and by LocalQueue."""
        prefix = "local_queue_"
        return (
            self.value(metric, cluster_queue="q", **labels),
            self.value(prefix + metric, name="q", namespace="ns", **labels),
        )

    def unadmitted(self, **why: str) -> tuple[float | None, float | None]:
        """As `both`; the metric of the LocalQueue also has the label of its ClusterQueue."""
        local = {"name": "q", "namespace": "ns", "cluster_queue": "q"}
        by_queue = self.value("unadmitted_workloads", cluster_queue="q", **why)
        return by_queue, self.value("local_queue_unadmitted_workloads", **local, **why)


def test_an_admission_is_counted_once_with_its_wait_times() -> None:
    counted = Counted()
    counted.see(NEW, HELD, ADMITTED, ADMITTED)
    of = {"priority_class": "high"}
    for metric in ("quota_reserved_workloads_total", "admitted_workloads_total"):
        assert counted.both(metric, **of) == (1, 1)
    sums = {"quota_reserved_wait_time": 60, "admission_wait_time": 65}
    for metric, seconds in sums.items():
        assert counted.both(f"{metric}_seconds_sum", **of) == (seconds, seconds)
        assert counted.both(f"{metric}_seconds_count", **of) == (1, 1)
    for cohort in ("c", "top"):
        assert counted.value("cohort_subtree_admitted_workloads_total", cohort=cohort, **of) == 1


def test_no_created_series_are_exported() -> None:
    counted = Counted()
    counted.see(NEW, HELD, ADMITTED)
    names = {sample.name for metric in counted.registry.collect() for sample in metric.samples}
    assert {name for name in names if name.endswith("_created")} == set()


def test_the_wait_for_checks_is_counted_only_with_checks() -> None:
    checked = replace(ADMITTED, checks=(CheckState("a", "Ready"),))
    for admitted, counts in ((ADMITTED, None), (checked, 1)):
        counted = Counted()
        counted.see(NEW, HELD, admitted)
        metric = "admission_checks_wait_time_seconds"
        assert counted.both(f"{metric}_count", priority_class="high") == (counts, counts)
        assert counted.both(f"{metric}_sum", priority_class="high") == (counts and 5, counts and 5)


def test_an_admission_in_one_write_counts_like_one_in_two_writes() -> None:
    counted = Counted()
    counted.see(NEW, sync_admitted(HELD, NOW))
    assert counted.both("admitted_workloads_total", priority_class="high") == (1, 1)
    assert counted.both("quota_reserved_workloads_total", priority_class="high") == (1, 1)


def test_ready_pods_and_finished_workloads_are_counted() -> None:
    counted = Counted()
    assert counted.both("finished_workloads") == (0, 0)
    ready = with_condition(ADMITTED, PODS_READY, "True", "Started", "", NOW + 15 * SECOND)
    counted.see(NEW, HELD, ADMITTED, ready, finish(ready, "Succeeded", "", NOW + 35 * SECOND))
    of = {"priority_class": "high"}
    assert counted.both("ready_wait_time_seconds_sum", **of) == (75, 75)
    assert counted.both("admitted_until_ready_wait_time_seconds_sum", **of) == (10, 10)
    assert counted.both("finished_workloads_total", **of) == (1, 1)
    assert counted.both("execution_time_seconds_sum", **of) == (30, 30)
    assert counted.both("finished_workloads") == (1, 1)
    counted.see(None)
    assert counted.both("finished_workloads") == (0, 0)


def test_pods_that_recover_are_not_timed_as_a_start() -> None:
    counted = Counted()
    lost = with_condition(ADMITTED, PODS_READY, "False", "WaitForRecovery", "", NOW + 15 * SECOND)
    counted.see(lost, with_condition(lost, PODS_READY, "True", "Recovered", "", NOW + 20 * SECOND))
    for metric in ("ready_wait_time_seconds_count", "admitted_until_ready_wait_time_seconds_count"):
        assert counted.both(metric, priority_class="high") == (None, None)


def test_a_replaced_slice_is_counted() -> None:
    counted = Counted()
    counted.see(ADMITTED, finish(ADMITTED, "WorkloadSliceReplaced", "", NOW + SECOND))
    assert counted.value("replaced_workload_slices_total", cluster_queue="q") == 1


def test_a_preemption_counts_as_eviction_with_its_cause_and_latency() -> None:
    counted = Counted()
    message = (
        "Preempted to accommodate a workload (UID: x, JobUID: y) due to z; preemptor path: /top/c/r; preemptee path: /q"
    )
    ready = with_condition(ADMITTED, PODS_READY, "True", "Started", "", NOW + 10 * SECOND)
    victim = preempt(ready, "InCohortReclamation", message, NOW + 70 * SECOND)
    counted.see(ready, victim, release(victim, NOW + 100 * SECOND))
    why = {"reason": "Preempted", "underlying_cause": ""}
    assert counted.both("evicted_workloads_total", **why, priority_class="high") == (1, 1)
    assert counted.value("evicted_workloads_once_total", cluster_queue="q", **why, priority_class="high") == 1
    preemptor = {"preempting_cluster_queue": "r", "reason": "InCohortReclamation"}
    assert counted.value("preempted_workloads_total", **preemptor) == 1
    assert counted.value("pods_ready_to_evicted_time_seconds_sum", cluster_queue="q", **why) == 60
    latency = counted.value("workload_eviction_latency_seconds_sum", cluster_queue="q", reason="Preempted")
    assert latency == 30


def test_an_eviction_without_quota_is_not_counted() -> None:
    counted = Counted()
    counted.see(NEW, evict(NEW, "Deactivated", "The workload is deactivated", NOW))
    why = {"reason": "Deactivated", "underlying_cause": "", "priority_class": "high"}
    assert counted.both("evicted_workloads_total", **why) == (None, None)


def test_a_workload_evicted_again_counts_as_evicted_once() -> None:
    counted = Counted()
    evicted = evict(ADMITTED, "Deactivated", "", NOW, cause="MaximumExecutionTimeExceeded")
    again = sync_admitted(reserve(unreserve(evicted, "Pending", "", NOW), Admission("q"), NOW), NOW)
    counted.see(ADMITTED, evicted, again, evict(again, "Deactivated", "", NOW, cause="MaximumExecutionTimeExceeded"))
    why = {"reason": "Deactivated", "underlying_cause": "MaximumExecutionTimeExceeded", "priority_class": "high"}
    assert counted.both("evicted_workloads_total", **why) == (2, 2)
    assert counted.value("evicted_workloads_once_total", cluster_queue="q", **why) == 1


def test_a_standby_counts_no_events_but_pending_workloads() -> None:
    counted = Counted(leads=False)
    counted.see(NEW, HELD, ADMITTED, NEW)
    assert counted.value("admitted_workloads_total", cluster_queue="q", priority_class="high") is None
    assert counted.unadmitted(reason="NoReservation", underlying_cause="PendingEvaluation") == (1, 1)


def test_a_pending_workload_is_counted_by_reason_until_it_is_admitted() -> None:
    counted = Counted()
    waits = unreserve(NEW, "WaitingForQuota", "", NOW)
    why = {"reason": "NoReservation", "underlying_cause": "WaitingForQuota"}
    counted.see(NEW, waits)
    assert counted.unadmitted(**why) == (1, 1)
    counted.see(ADMITTED)
    assert counted.unadmitted(**why) == (None, None)
    counted.see(waits, None)
    assert counted.unadmitted(**why) == (None, None)


def test_a_workload_listed_before_its_local_queue_is_counted_in_its_cluster_queue() -> None:
    counted = Counted()
    counted.state.world.drop_local_queue("ns/q")
    counted.see(NEW)
    counted.state.world.put_local_queue(LocalQueueSettings("ns", "q", "q"), NOW)

    assert counted.unadmitted(reason="NoReservation", underlying_cause="PendingEvaluation") == (1, 1)


def test_finished_workloads_of_a_local_queue_with_two_cluster_queues_are_one_series() -> None:
    counted = Counted()
    for name, queue in (("one", "q"), ("two", "r")):
        workload = sync_admitted(reserve(NEW, Admission(queue), NOW), NOW)
        counted.see(finish(workload, "Succeeded", "", NOW), name=f"ns/{name}")

    assert counted.both("finished_workloads") == (1, 2)


def test_a_workload_with_quota_has_one_unadmitted_reason() -> None:
    checked = sync_admitted(replace(HELD, checks=(CheckState("c", "Pending"),)), NOW, GRANULAR)
    assert unadmitted(checked) == ("UnsatisfiedAdmissionChecks", "")


def test_series_of_a_deleted_local_queue_are_removed_with_its_namespace() -> None:
    counted = Counted()
    series = {"name": "q", "namespace": "ns", "priority_class": "high"}
    counted.see(None, kind="LocalQueue", name="ns/q")
    counted.see(NEW, HELD, ADMITTED)
    assert counted.value("local_queue_admitted_workloads_total", **series) == 1

    counted.see(None, kind="Namespace", name="ns")
    assert counted.value("local_queue_admitted_workloads_total", **series) is None
    assert counted.value("admitted_workloads_total", cluster_queue="q", priority_class="high") == 1


def test_series_of_an_implicit_cohort_are_removed_with_its_last_child() -> None:
    counted = Counted()
    counted.see(NEW, HELD, ADMITTED)
    below = {"cohort": "top", "priority_class": "high"}
    assert counted.value("cohort_subtree_admitted_workloads_total", **below) == 1

    counted.state.world.drop_cohort("c", NOW)
    counted.observer.changing(None, Observed(("Cohort", "c"), "", None), NOW)
    counted.observer.changed(NOW)

    assert counted.value("cohort_subtree_admitted_workloads_total", **below) is None


@pytest.mark.parametrize(("kind", "name"), [("ClusterQueue", "q"), ("LocalQueue", "ns/q"), ("Cohort", "top")])
def test_series_are_removed_with_their_object(kind: str, name: str) -> None:
    counted = Counted()
    counted.see(NEW, HELD, ADMITTED)
    counted.observer.changing(None, Observed((kind, name), "", None), NOW)
    of = {"priority_class": "high"}
    by_queue, by_local = counted.both("admitted_workloads_total", **of)
    by_cohort = counted.value("cohort_subtree_admitted_workloads_total", cohort="top", **of)
    gone = {"ClusterQueue": by_queue, "LocalQueue": by_local, "Cohort": by_cohort}
    assert {each: count for each, count in gone.items() if count is None} == {kind: None}


def test_a_cycle_counts_as_attempt_with_its_preemption_skips() -> None:
    counted = Counted()
    counted.observer.decided([Wait(NEW, "q", Requeue.FAILED_AFTER_NOMINATION, "Pending", OVERLAPPING)], 0.5)
    assert counted.value("admission_attempts_total", result="inadmissible") == 1
    assert counted.value("admission_attempt_duration_seconds_sum", result="inadmissible") == 0.5
    assert counted.value("admission_cycle_preemption_skips", cluster_queue="q") == 1
    counted.observer.decided([Wait(NEW, "q", Requeue.GENERIC, "Pending", "")], 0.5)
    assert counted.value("admission_cycle_preemption_skips", cluster_queue="q") is None


def test_a_recovery_is_measured_from_the_failure() -> None:
    counted = Counted()
    failed = with_condition(ADMITTED, PODS_READY, "False", "WaitForRecovery", "", NOW + 10 * SECOND)
    counted.see(ADMITTED, failed, with_condition(failed, PODS_READY, "True", "Recovered", "", NOW + 40 * SECOND))
    of = {"priority_class": "high"}
    assert counted.both("workload_recovery_wait_time_seconds_sum", **of) == (30, 30)
    assert counted.both("ready_wait_time_seconds_count", **of) == (None, None)


@pytest.mark.parametrize(
    ("requeue", "message", "result"),
    [
        (Requeue.PENDING_PREEMPTION, DEFERRED, "deferred_fit"),
        (Requeue.PENDING_PREEMPTION, "Pending the preemption of 1 workload(s)", "new_targets"),
        (Requeue.FAILED_AFTER_NOMINATION, OVERLAPPING, "skipped"),
        (Requeue.NO_FIT, "it does not fit", "skipped"),
    ],
)
def test_a_second_search_for_victims_is_counted_by_its_result(requeue: Requeue, message: str, result: str) -> None:
    counted = Counted()
    first = Wait(NEW, "q", requeue, "Pending", message)
    counted.observer.decided([first, replace(first, recomputed=True)], 0.5)
    assert counted.value("preemption_target_recomputations_total", cluster_queue="q", result=result) == 1
