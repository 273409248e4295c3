"""The dashboards.

Queries for metrics with Kueue's names select our jobs, since Kueue's manager also exports these names. Every shard
exports all gauges, so the queries read those of the shard `default`. Counters and histograms have only what the shard
itself did, so the queries read those of all shards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Panel:
    """A panel. `about`: its description. `queries`: a legend, with Grafana's `{{label}}`, to its query. `unit`: a unit
    id of Grafana."""

    title: str
    about: str
    queries: Mapping[str, str]
    unit: str = "short"


@dataclass(frozen=True)
class Board:
    """A dashboard. `variables`: each `$name` in the panels to the query that lists its values."""

    uid: str
    title: str
    panels: tuple[Panel, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def quantiles(histogram: str, *by: str, selector: str = "") -> dict[str, str]:
    """The queries for the median and the 99th percentile of a histogram, grouped by these labels."""
    labels = ", ".join(("le", *by))
    legend = " ".join(f"{{{{{each}}}}}" for each in by)
    return {
        f"p{share} {legend}".strip(): f"histogram_quantile(0.{share}, sum by ({labels})"
        f" (rate({histogram}_bucket{selector}[$__rate_interval])))"
        for share in (50, 99)
    }


def rates(counter: str, *by: str, selector: str = "") -> dict[str, str]:
    """The query for the rate per second of a counter, grouped by these labels."""
    legend = " ".join(f"{{{{{each}}}}}" for each in by) or "all"
    return {legend: f"sum by ({', '.join(by)}) (rate({counter}{selector}[$__rate_interval]))"}


_DEFAULT_SHARD = 'job="quotree-reconciler-metrics", replica_role="leader"'
_LEADER = f"{{{_DEFAULT_SHARD}}}"
_CHOSEN = 'cluster_queue=~"$cluster_queue"'
_QUEUE = f"{{{_DEFAULT_SHARD}, {_CHOSEN}}}"
_INACTIVE = f'{{{_DEFAULT_SHARD}, {_CHOSEN}, status!="active"}}'
_SHARDS = 'job=~"quotree-reconciler(-.+)?-metrics"'
_LEADERS = f'{{{_SHARDS}, replica_role="leader"}}'
_QUEUE_OF_SHARDS = f'{{{_SHARDS}, replica_role="leader", {_CHOSEN}}}'
_WEBHOOKS = 'name=~".+[.]quotree[.]dev"'

WEBHOOK = Board(
    "quotree-webhook",
    "Quotree: webhook",
    (
        Panel(
            "Requests",
            "Admission requests by result. `unavailable`: the ledger could not order a change.",
            rates("quotree_admission_requests_total", "result"),
            "reqps",
        ),
        Panel(
            "Request duration",
            "The API server waits for 3 s at most.",
            quantiles("quotree_admission_duration_seconds"),
            "s",
        ),
        Panel("Findings", "Findings of rules.", rates("quotree_findings_total", "rule", "severity"), "reqps"),
        Panel("Replicas", "Replicas that answer.", {"up": 'sum(up{job="quotree-webhook-metrics"})'}),
        Panel(
            "Failed calls",
            "Counted by the API server: requests that it refused, and requests that it allowed.",
            rates(
                "apiserver_admission_webhook_rejection_count",
                *("name", "error_type"),
                selector=f'{{{_WEBHOOKS}, error_type="calling_webhook_error"}}',
            )
            | rates("apiserver_admission_webhook_fail_open_count", "name", selector=f"{{{_WEBHOOKS}}}"),
            "reqps",
        ),
        Panel("Rejected clients", "By reason.", rates("quotree_turned_away_total", "reason"), "reqps"),
        Panel(
            "Cache age",
            "A healthy watch receives data every 75 s.",
            {"{{instance}}": "quotree_cache_age_seconds", "synced {{instance}}": "quotree_cache_synced"},
            "s",
        ),
        Panel(
            "Ledger",
            "Changes that were allowed and may not be stored yet.",
            {"{{instance}}": "quotree_ledger_entries"},
        ),
        Panel(
            "Certificate",
            "Time until it expires.",
            {"{{instance}}": "quotree_certificate_expiry_timestamp_seconds - time()"},
            "s",
        ),
        Panel(
            "Conversions",
            "Objects of Kueue that were requested in another version.",
            rates("quotree_converted_objects_total", "to", "result"),
            "reqps",
        ),
    ),
)
RECONCILER = Board(
    "quotree-reconciler",
    "Quotree: reconciler",
    (
        Panel(
            "Replicas that write",
            "Each job must have one. `--mode observe` writes nothing and is left out.",
            {
                "{{job}}": "sum by (job) (quotree_reconciler_writes"
                " unless on (job, instance) quotree_observe_decisions_total)",
                "{{job}} {{instance}}": "quotree_reconciler_writes",
            },
        ),
        Panel(
            "Ready",
            "Whether every kind was listed, and whether writes are paused because the API server fails.",
            {"synced {{instance}}": "quotree_reconciler_synced", "paused {{instance}}": "quotree_reconciler_paused"},
        ),
        Panel(
            "Inbox",
            "Changes that the loop has not processed yet, and writes without a response.",
            {
                "inbox {{instance}}": "quotree_reconciler_inbox",
                "under way {{instance}}": "quotree_reconciler_under_way",
            },
        ),
        Panel(
            "Rounds", "Duration of a round of the loop.", quantiles("quotree_reconciler_round_seconds", "instance"), "s"
        ),
        Panel(
            "Writes",
            "Writes that were carried out, and writes that failed.",
            {
                "written": "sum(rate(quotree_reconciler_written_total[$__rate_interval]))",
                "failed": "sum(rate(quotree_reconciler_failed_total[$__rate_interval]))",
            },
            "wps",
        ),
        Panel(
            "Cycles",
            "Scheduling cycles; success if a Workload got quota.",
            rates("kueue_admission_attempts_total", "result", selector=_LEADERS),
            "cps",
        ),
        Panel(
            "Cycle duration",
            "The time of the engine, without writes.",
            quantiles("kueue_admission_attempt_duration_seconds", selector=_LEADERS),
            "s",
        ),
        Panel(
            "Bypasses",
            "Changes that bypassed the webhook: the age of the oldest one, how many remain, and how many were undone.",
            {
                "oldest, in seconds": "max(quotree_reconciler_bypass_age_seconds)",
                "remaining": "max(quotree_reconciler_bypasses)",
                "undone {{way}}": "sum by (way) (rate(quotree_reconciler_bypasses_undone_total[$__rate_interval]))",
            },
        ),
        Panel(
            "Certificate of /v1",
            "Time until it expires.",
            {"{{instance}}": "quotree_reconciler_certificate_expiry_timestamp_seconds - time()"},
            "s",
        ),
        Panel(
            "CPU",
            "Cores in use. The loop can use one.",
            {"{{job}} {{instance}}": f"rate(process_cpu_seconds_total{{{_SHARDS}}}[$__rate_interval])"},
        ),
        Panel(
            "Memory",
            "Resident memory.",
            {"{{job}} {{instance}}": f"process_resident_memory_bytes{{{_SHARDS}}}"},
            "bytes",
        ),
        Panel(
            "Differences",
            "With --mode observe: decisions of another controller that differ from ours.",
            rates("quotree_observe_differences_total", "kind")
            | rates("quotree_observe_pods_total", "dialect", "result"),
        ),
    ),
)
QUEUES = Board(
    "quotree-queues",
    "Quotree: queues of Kueue",
    (
        Panel(
            "Pending",
            "Workloads that wait. `inadmissible` ones are tried again when something changes in their tree.",
            {"{{cluster_queue}} {{status}}": f"kueue_pending_workloads{_QUEUE}"},
        ),
        Panel(
            "Admitted",
            "Workloads that are admitted.",
            {"{{cluster_queue}}": f"kueue_admitted_active_workloads{_QUEUE}"},
        ),
        Panel(
            "Admissions",
            "Admitted workloads per second.",
            rates("kueue_admitted_workloads_total", "cluster_queue", selector=_QUEUE_OF_SHARDS),
        ),
        Panel(
            "Waiting time",
            "From creation or requeuing to admission.",
            quantiles("kueue_admission_wait_time_seconds", "cluster_queue", selector=_QUEUE_OF_SHARDS),
            "s",
        ),
        Panel(
            "Evictions",
            "By reason.",
            rates("kueue_evicted_workloads_total", "cluster_queue", "reason", selector=_QUEUE_OF_SHARDS),
        ),
        Panel(
            "Preemptions",
            "By the ClusterQueue that preempts.",
            rates("kueue_preempted_workloads_total", "preempting_cluster_queue", "reason", selector=_LEADERS),
        ),
        Panel(
            "Quota in use",
            "Needs metrics.enableClusterQueueResources.",
            {
                "{{cluster_queue}} {{flavor}} {{resource}}": f"kueue_cluster_queue_resource_usage{_QUEUE}",
                "nominal {{cluster_queue}} {{flavor}} {{resource}}": f"kueue_cluster_queue_nominal_quota{_QUEUE}",
            },
        ),
        Panel(
            "Borrowed",
            "Reserved beyond nominal quota. Needs metrics.enableClusterQueueResources.",
            {
                "{{cluster_queue}} {{flavor}} {{resource}}": "clamp_min("
                f"kueue_cluster_queue_resource_reservation{_QUEUE} - kueue_cluster_queue_nominal_quota{_QUEUE}, 0)"
            },
        ),
        Panel(
            "Weighted share",
            "With fair sharing: borrowed quota as a share of the lendable quota, in thousandths.",
            {"{{cluster_queue}}": f"kueue_cluster_queue_weighted_share{_QUEUE}"},
        ),
        Panel(
            "Cohorts",
            "Quota of each subtree, and the reserved part.",
            {
                "quota {{cohort}} {{flavor}} {{resource}}": f"kueue_cohort_subtree_quota{_LEADER}",
                "reserved {{cohort}} {{flavor}} {{resource}}": f"kueue_cohort_subtree_resource_reservations{_LEADER}",
            },
        ),
        Panel(
            "Inactive queues",
            "Stopped, broken, or about to be deleted.",
            {"{{cluster_queue}} {{status}}": f"kueue_cluster_queue_status{_INACTIVE} == 1"},
        ),
    ),
    {"cluster_queue": f"label_values(kueue_pending_workloads{_LEADER}, cluster_queue)"},
)
ELSEWHERE = Board(
    "quotree-elsewhere",
    "Quotree: worker clusters, Volcano's and YuniKorn's quota",
    (
        Panel(
            "Connections to workers",
            "1 if the replica is connected to the worker cluster.",
            {"{{cluster}} {{instance}}": 'quotree_multikueue_connection{state="connected"}'},
        ),
        Panel(
            "Workloads on workers",
            "Workloads that run on each worker.",
            {"{{cluster}}": "max by (cluster) (quotree_multikueue_placed_workloads)"},
        ),
        Panel(
            "Lost connections",
            "Per hour.",
            {"{{cluster}}": "sum by (cluster) (increase(quotree_multikueue_connection_losses_total[1h]))"},
        ),
        Panel(
            "Last answers of workers",
            "Time since each worker cluster last answered.",
            {"{{cluster}}": "time() - max by (cluster) (quotree_multikueue_last_seen_timestamp_seconds)"},
            "s",
        ),
        Panel(
            "Credentials of workers",
            "Time until they expire.",
            {"{{cluster}}": "min by (cluster) (quotree_multikueue_credentials_end_timestamp_seconds) - time()"},
            "s",
        ),
        Panel(
            "Pods at gates",
            "Pods that wait for the quota of Volcano or YuniKorn, by reason.",
            {"{{dialect}} {{reason}}": "sum by (dialect, reason) (quotree_gates_waiting_pods)"},
        ),
        Panel(
            "Pods that passed",
            "Pods that passed a gate, per second.",
            rates("quotree_gates_passed_pods_total", "dialect"),
        ),
        Panel(
            "Namespaces of YuniKorn",
            "Use of each quota, from 0 to 1.",
            {"{{namespace}} {{resource}}": "quotree_gates_namespace_usage / (quotree_gates_namespace_quota > 0)"},
            "percentunit",
        ),
        Panel(
            "Queues of Volcano",
            "Use of each limit, from 0 to 1.",
            {"{{queue}} {{resource}}": "quotree_gates_queue_usage / (quotree_gates_queue_limit > 0)"},
            "percentunit",
        ),
    ),
)
BOARDS = (WEBHOOK, RECONCILER, QUEUES, ELSEWHERE)
