"""The metrics of Kueue v0.19.2 and some of v0.20, and which of them are exported under their names and labels.

Written from what Kueue documents of them, not from our own declarations.
"""

from __future__ import annotations

from cluster.metrics import Stability, Type
from reconciler.metrics.catalogue import families

CQ, COHORT, LQ, CLASS = ("cluster_queue",), ("cohort",), ("name", "namespace"), ("priority_class",)
WHY, PAIR, ABOVE = ("reason", "underlying_cause"), ("flavor", "resource"), ("parent_cohort", "root_cohort")
KEPT: dict[str, tuple[str, ...]] = {
    "admission_attempts_total": ("result",),
    "admission_attempt_duration_seconds": ("result",),
    "admission_cycle_preemption_skips": CQ,
    "preemption_target_recomputations_total": (*CQ, "result"),
    "pending_workloads": (*CQ, "status"),
    **dict.fromkeys(
        (
            *("quota_reserved_workloads_total", "admitted_workloads_total", "finished_workloads_total"),
            *("execution_time_seconds", "quota_reserved_wait_time_seconds", "admission_wait_time_seconds"),
            *(
                "admission_checks_wait_time_seconds",
                "ready_wait_time_seconds",
                "admitted_until_ready_wait_time_seconds",
                "workload_recovery_wait_time_seconds",
            ),
        ),
        (*CQ, *CLASS),
    ),
    "finished_workloads": CQ,
    "replaced_workload_slices_total": CQ,
    "evicted_workloads_total": (*CQ, *WHY, *CLASS),
    "evicted_workloads_once_total": (*CQ, *WHY, *CLASS),
    "preempted_workloads_total": ("preempting_cluster_queue", "reason"),
    "workload_eviction_latency_seconds": (*CQ, "reason"),
    "pods_ready_to_evicted_time_seconds": (*CQ, *WHY),
    "reserving_active_workloads": CQ,
    "admitted_active_workloads": CQ,
    "cluster_queue_status": (*CQ, "status"),
    "unadmitted_workloads": (*CQ, *WHY),
    **{
        f"cluster_queue_{name}": (*COHORT, *CQ, *PAIR)
        for name in ("resource_reservation", "resource_usage", "nominal_quota", "borrowing_limit", "lending_limit")
    },
    "cluster_queue_weighted_share": (*CQ, *COHORT),
    "cluster_queue_info": (*CQ, *ABOVE),
    "cohort_info": (*COHORT, *ABOVE),
    "cohort_weighted_share": COHORT,
    "cohort_subtree_quota": (*COHORT, *PAIR),
    "cohort_subtree_resource_reservations": (*COHORT, *PAIR),
    "cohort_subtree_admitted_workloads_total": (*COHORT, *CLASS),
    "cohort_subtree_admitted_active_workloads": COHORT,
    "local_queue_pending_workloads": (*LQ, "status"),
    **{
        f"local_queue_{name}": (*LQ, *CLASS)
        for name in (
            *("quota_reserved_workloads_total", "admitted_workloads_total", "finished_workloads_total"),
            *("quota_reserved_wait_time_seconds", "admission_wait_time_seconds", "ready_wait_time_seconds"),
            *("admission_checks_wait_time_seconds", "admitted_until_ready_wait_time_seconds"),
            *("execution_time_seconds", "workload_recovery_wait_time_seconds"),
        )
    },
    **{
        f"local_queue_{name}": LQ
        for name in ("finished_workloads", "reserving_active_workloads", "admitted_active_workloads")
    },
    "local_queue_evicted_workloads_total": (*LQ, *WHY, *CLASS),
    "local_queue_unadmitted_workloads": (*LQ, *CQ, *WHY),
    "local_queue_status": (*LQ, "active"),
    "local_queue_resource_reservation": (*LQ, *PAIR),
    "local_queue_resource_usage": (*LQ, *PAIR),
    "local_queue_admission_fair_sharing_usage": (*LQ, *CQ),
    "pending_scheduling_hashes": (*CQ, "status"),
    "cluster_queue_resource_pending": (*CQ, "resource"),
    "workload_creation_latency_seconds": ("job_kind",),
    "pod_scheduling_gate_removal_seconds": (*CQ, "name", "is_group"),
    "multikueue_workloads_dispatched_total": (*CQ, "cluster"),
    "multikueue_workloads_admitted_total": (*CQ, "cluster"),
    "multikueue_workloads_evicted_total": (*CQ, "cluster", "reason"),
    "multikueue_cluster_status": (*CQ, "cluster", "active"),
}
"""Without `replica_role`, which all have."""
EXPORTED = {family.name: family for family in families() if family.stability is Stability.KUEUE}


def test_metrics_have_the_names_and_labels_of_kueue() -> None:
    ours = {name.removeprefix("kueue_"): family.labels for name, family in EXPORTED.items()}
    del ours["build_info"]
    assert ours == {name: (*labels, "replica_role") for name, labels in KEPT.items()}


WAITS = (1.0, *(2.5 * 2**step for step in range(13)))
LONG = (*WAITS, 20_480.0, 40_960.0)
SHORT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BUCKETS = {
    "admission_attempt_duration_seconds": SHORT,
    "pod_scheduling_gate_removal_seconds": SHORT,
    "workload_creation_latency_seconds": tuple(0.01 * 2**step for step in range(11)),
    **dict.fromkeys(
        ("admission_wait_time_seconds", "execution_time_seconds", "local_queue_execution_time_seconds"), LONG
    ),
}
"""The bounds of buckets that differ from WAITS. Source: Kueue v0.19.2 and v0.20, pkg/metrics/metrics.go."""


def test_histograms_have_the_buckets_of_kueue() -> None:
    """Otherwise a quantile of Kueue's dashboards ends at the last bucket, or lies somewhere in the first one."""
    ours = {name: family.buckets for name, family in EXPORTED.items() if family.type is Type.HISTOGRAM}

    assert ours == {name: BUCKETS.get(name.removeprefix("kueue_"), WAITS) for name in ours}
