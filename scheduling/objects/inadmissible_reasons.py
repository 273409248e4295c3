"""Why a workload has no quota: the reasons of its condition QuotaReserved.

Source: Kueue v0.19, apis/kueue/v1beta2 and pkg/scheduler (gate UnadmittedWorkloadsObservability).
"""

WAITING_FOR_QUOTA = "WaitingForQuota"
EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR = "NoMatchingFlavor"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"
WAITING_FOR_PODS_READY = "WaitingForPodsReady"
MISCONFIGURED = "Misconfigured"
SUSPENDED = "Suspended"
PENDING_EVALUATION = "PendingEvaluation"
PENDING = "Pending"
"""The only reason that Kueue writes without its gate UnadmittedWorkloadsObservability."""
