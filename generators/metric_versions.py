"""The changes of later Kueue versions to the metrics of v0.19.2. Quotree exports all metrics of v0.19.2.

Source: Kueue main of 2026-08-23, pkg/metrics, and the release notes of v0.20.0.
"""

from __future__ import annotations

from collections.abc import Mapping

_RECOVERY = "the time of a recovery is in no metric"

ADDED_0_20: Mapping[str, str] = {
    "kueue_execution_time_seconds": "",
    "kueue_local_queue_execution_time_seconds": "the execution time is exported by ClusterQueue",
    "kueue_local_queue_workload_recovery_wait_time_seconds": _RECOVERY,
    "kueue_pending_scheduling_hashes": "",
    "kueue_preemption_target_recomputations_total": "recomputations are not counted",
    "kueue_workload_recovery_wait_time_seconds": _RECOVERY,
    "multikueue_cluster_status": "",
    "multikueue_workloads_evicted_total": "",
}
"""The metrics that are new in v0.20, each with the reason why Quotree does not export it; empty if it does."""
