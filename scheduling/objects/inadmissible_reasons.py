"""Why a workload has no quota: the reasons of its condition QuotaReserved.

Decisions and `why` always use the granular reasons. Conditions show these or the few before them, as
`scheduling.status.observability` says.
Source: Kueue v0.19, apis/kueue/v1beta2 and pkg/scheduler (gate UnadmittedWorkloadsObservability).
"""

WAITING_FOR_QUOTA = "WaitingForQuota"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR = "NoMatchingFlavor"
TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
PENDING_PREEMPTION = "Pending the preemption of"
"""A part of the message of a workload whose victims are leaving; without the gate only that tells so."""
WAITING_FOR_PODS_READY = "WaitingForPodsReady"
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"
PENDING_EVALUATION = "PendingEvaluation"

ADMISSION_GATED = "AdmissionGated"
"""The same with and without the gate, as ON_HOLD in `scheduling.objects.workload`."""

PENDING = "Pending"
INADMISSIBLE = "Inadmissible"
WAITING = "Waiting"
"""All that the scheduler writes without the gate, a queue that is at fault, and pods that are waited for."""
