"""Why a workload has no quota: the reasons of its condition QuotaReserved.

Decisions and `why` always use the granular reasons. `scheduling.status.observability` decides whether conditions show
these, or the fewer reasons of earlier versions.
Source: Kueue v0.19, apis/kueue/v1beta2 and pkg/scheduler (gate UnadmittedWorkloadsObservability).
"""

WAITING_FOR_QUOTA = "WaitingForQuota"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR = "NoMatchingFlavor"
TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
PENDING_PREEMPTION = "Pending the preemption of"
"""A part of the message of a workload whose victims have not ended. Without the gate, only the message shows that."""
WAITING_FOR_PODS_READY = "WaitingForPodsReady"
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"
PENDING_EVALUATION = "PendingEvaluation"

ADMISSION_GATED = "AdmissionGated"
"""The reason is the same with and without the gate, as is ON_HOLD in `scheduling.objects.workload`."""

PENDING = "Pending"
INADMISSIBLE = "Inadmissible"
WAITING = "Waiting"
"""The reasons without the gate: for all refusals of the scheduler, for a faulty queue, and while pods are not ready."""
