"""The changes of the table of feature gates in Kueue v0.20.

Source: Kueue main of 2026-08-23, pkg/features, and the release notes of v0.20.0. The notes do not have the defaults of
four gates. These gates have the usual default here, on.
"""

from __future__ import annotations

from collections.abc import Mapping

from policies.configuration.kueue.gate_table import PARTS, WEBHOOK, FeatureGate, Here, off, on

SUPPORTED, ON, OFF, IDLE = Here
_QUOTA = "`true`: `status.effectiveQuotas` of ClusterQueues and Cohorts applies; another party writes it."
_PODS_READY = "`waitForPodsReady` has the same values for all workloads."
_SLICES = "See [elastic jobs](elastic-jobs.md)."

DEFAULTS: Mapping[str, tuple[bool, str]] = {
    "MultiKueueKubeConfigPathValidation": (True, "beta"),
    "MultiKueueOrchestratedPreemption": (True, "beta"),
    "RecomputeAssignmentUponPreemptionTargetsOverlap": (True, "beta"),
    "RejectUpdatesToCQWithInvalidOnFlavors": (True, "beta"),
    "TASCacheTopologyTree": (True, "beta"),
    "TLSOptions": (True, "GA"),
    "UnadmittedWorkloadsObservability": (True, "beta"),
    "WorkloadPriorityClassDefaulting": (True, "beta"),
}
"""The gates with a new default or stage. A GA gate is locked."""

REMOVED: Mapping[str, bool] = {
    "HierarchicalCohorts": True,
    "MultiKueueAllowInsecureKubeconfigs": False,
    "MultiKueueRedoAdmissionOnEvictionInWorker": True,
    "MultiKueueWaitForWorkloadAdmitted": True,
    "ObjectRetentionPolicies": True,
    "PropagateBatchJobLabelsToWorkload": True,
    "SchedulerLongRequeueInterval": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "SkipFinalizersForPodsSuspendedByParent": True,
}
"""The removed gates, each with the value that Kueue now behaves as if it had."""

ADDED: tuple[FeatureGate, ...] = (
    on("AdmissionFairSharingAnchorAtQuotaReservation", SUPPORTED, "`false`: only admitted workloads count as usage."),
    off("ConfigurablePreemptions", OFF, "A PreemptionConfig has no effect."),
    on("DeploymentJobUIDLabel", OFF, "The Workload of a Deployment's Pod has the UID of the Pod in the label."),
    off("DynamicQuotaOrchestration", SUPPORTED, _QUOTA, webhooks=True),
    on("ElasticJobsViaWorkloadSlicesFlavorChangeFromZero", OFF, _SLICES),
    off("ElasticJobsViaWorkloadSlicesForProvisioningRequests", OFF, _SLICES),
    off("ElasticJobsViaWorkloadSlicesWithPartialReplicaScaleUp", OFF, _SLICES),
    on("EnforceProvisioningPodTemplateContents", OFF, "An existing PodTemplate is used as it is."),
    off("FairSharingReevaluatePreemptionCandidates", OFF, "The candidates of a preemption are tried once."),
    off("FairSharingRefill", OFF, "A ClusterQueue has one workload in each cycle."),
    on("HighMaxParallelismWithinReconcile", IDLE, "Internal to Kueue's manager: its behaviour is the same."),
    off("KueueDRADeviceFeasibility", OFF, PARTS),
    off("KueueDRAIntegrationDeviceTaints", OFF, PARTS),
    off("KueueDRAIntegrationPrioritizedList", OFF, PARTS),
    off(
        "MultiKueueBatchJobClearingTTLSecondsAfterFinishedOnWorkerCluster",
        ON,
        "A Job on a worker has no `ttlSecondsAfterFinished`, so that its end is reported before it is deleted.",
    ),
    on("MultiKueueRayInTreeAutoscaling", OFF, "Ray jobs that scale themselves are not dispatched."),
    on(
        "MultiKueueReuseClientConnectionConfigForWorkers",
        SUPPORTED,
        "`clientConnection`, if it is set, limits the writes to each worker.",
    ),
    on("PodGroupSchedulingShapeOrdering", OFF, "The pod sets of a group are ordered by the hash of their role."),
    on("PodIntegrationCountSucceededPodsAsReady", SUPPORTED, "`false`: only Pods that are ready count as ready."),
    on("RayServiceValidateUpgradeStrategy", OFF, "The upgrade strategy of a RayService is not validated."),
    on("ReservedResourceNameValidation", SUPPORTED, "`false`: transformations and device classes may be named `pods`."),
    on(
        "SchedulingEquivalenceHashingIgnorePodSetName",
        SUPPORTED,
        "`false`: the names of pod sets tell Workloads apart.",
    ),
    on("TASGroupedPodSetSlicing", IDLE, WEBHOOK, webhooks=True),
    on("TASLeaderPodSetFeasibility", SUPPORTED, "`false`: a leader's pod may be placed on a node that it cannot use."),
    on("TASNodeFeasibilityForAllLevels", SUPPORTED, "`false`: only a topology with hosts looks at single nodes."),
    on("TASPartialSlices", SUPPORTED, "`false`: a workload waits if its last slice is not full.", webhooks=True),
    on("TASRejectFalseUnconstrainedTopology", IDLE, WEBHOOK, webhooks=True),
    off(
        "TASReplaceMultipleFailedNodes",
        SUPPORTED,
        "`true`: the pods of up to eight failed nodes get other places at once ([how](topology.md#nodes-that-fail)).",
    ),
    off("TASTopologySpreading", OFF, "Workloads are not spread over domains."),
    off("WaitForPodsReadyMaxNotReady", OFF, _PODS_READY),
    off("WaitForPodsReadyUnscheduledTimeout", OFF, _PODS_READY),
    off("WorkloadLevelWaitForPodsReady", OFF, _PODS_READY),
)

_TOPOLOGY = ("TopologyAwareScheduling",)
_REPLACEMENT = (*_TOPOLOGY, "TASFailedNodeReplacement")
_CLAIMS = ("KueueDRAIntegration",)
NEEDS: Mapping[str, tuple[str, ...]] = {
    "AdmissionFairSharingAnchorAtQuotaReservation": ("AdmissionFairSharing",),
    "ElasticJobsViaWorkloadSlicesWithTAS": ("ElasticJobsViaWorkloadSlices", *_TOPOLOGY),
    "FlavorFungibilityPreserveScanProgress": ("FlavorFungibility",),
    "KueueDRAIntegrationConsumableCapacity": _CLAIMS,
    "KueueDRAIntegrationExtendedResource": _CLAIMS,
    "KueueDRAIntegrationPartitionableDevices": _CLAIMS,
    "SchedulerLibraryIntegration": _TOPOLOGY,
    "SchedulingEquivalenceHashingIgnorePodSetName": ("SchedulingEquivalenceHashing",),
    "TASBalancedPlacement": _TOPOLOGY,
    "TASFailedNodeReplacement": _TOPOLOGY,
    "TASFailedNodeReplacementFailFast": _REPLACEMENT,
    "TASGroupedPodSetSlicing": _TOPOLOGY,
    "TASHandleOverlappingFlavors": _TOPOLOGY,
    "TASMultiLayerTopology": _TOPOLOGY,
    "TASNodeFeasibilityForAllLevels": _TOPOLOGY,
    "TASPartialSlices": _TOPOLOGY,
    "TASProfileMixed": _TOPOLOGY,
    "TASRecomputeAssignmentWithinSchedulingCycle": _TOPOLOGY,
    "TASReplaceMultipleFailedNodes": _REPLACEMENT,
    "TASReplaceNodeDueToNotReadyOverFixedTime": _REPLACEMENT,
    "TASReplaceNodeOnNodeTaints": _TOPOLOGY,
    "TASReplaceNodeOnPodTermination": _REPLACEMENT,
    "TASRespectNodeAffinityPreferred": _TOPOLOGY,
    "UnadmittedWorkloadsExplicitStatus": ("UnadmittedWorkloadsObservability",),
}
"""The gates that must be on if a gate is on."""
