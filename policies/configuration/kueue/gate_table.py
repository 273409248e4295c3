"""Kueue's feature gates and what becomes of each here: the one table of them, for code and documentation.

Source: Kueue v0.19.2, pkg/features.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Here(StrEnum):
    """What a feature gate does in the reconciler.

    ASKED: both values do what they do in Kueue.
    ON, OFF: only this behaviour exists; the other value is refused, unless it is Kueue's default.
    IDLE: either value may be set and changes nothing.
    """

    ASKED = "asked"
    ON = "always on"
    OFF = "always off"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """`on` is Kueue's default; `ours` another one that holds here. A `locked` gate cannot be set to another value.

    `webhooks`: Kueue's webhooks ask for it, so it is set in Quotree's own Configuration too. `why` is a sentence for
    people.
    """

    name: str
    on: bool
    stage: str
    here: Here
    why: str = ""
    ours: bool | None = None
    locked: bool = False
    webhooks: bool = False

    @property
    def default(self) -> bool:
        """What holds here where nobody sets it."""
        return self.on if self.ours is None else self.ours


def _on(name: str, here: Here, why: str = "", *, ours: bool | None = None, webhooks: bool = False) -> FeatureGate:
    """Beta, on."""
    return FeatureGate(name, True, "beta", here, why, ours, webhooks=webhooks)


def _off(name: str, here: Here, why: str = "", *, ours: bool | None = None, webhooks: bool = False) -> FeatureGate:
    """Alpha, off."""
    return FeatureGate(name, False, "alpha", here, why, ours, webhooks=webhooks)


def _locked(name: str, why: str = "") -> FeatureGate:
    return FeatureGate(name, True, "GA", Here.ON, why, locked=True)


ASKED, ON, OFF, IDLE = Here
_TOPOLOGIES = "Pods are not assigned to topologies yet: a workload that asks for one waits."
_DEVICES = "ResourceClaims are not counted: a workload with claims is never admitted."
_INSIDE = "Internal to Kueue's manager: its behaviour is the same."
_WEBHOOK = "The webhook reads it; set it in Quotree's own Configuration."
_ONE_FORM = "Quotree has only this behaviour."

GATES: tuple[FeatureGate, ...] = (
    _on("AdmissionFairSharing", ASKED, "`false`: the section `admissionFairSharing` has no effect."),
    _on("AdmissionGatedBy", ASKED, webhooks=True),
    _on("AssignQueueLabelsForPods", ON, "Pods that start get the labels of their queues."),
    _on(
        "CleanupProvisioningRequestsOnEviction",
        ASKED,
        "`false`: the ProvisioningRequests stay until the Workload is finished.",
    ),
    _off("ConcurrentAdmission", OFF, "Workloads have no variants that compete for admission.", webhooks=True),
    _off("CustomMetricLabels", ASKED, "See [labels of your own](metrics.md#labels-of-your-own)."),
    _on("DeferRayServiceFinalizationForRedisCleanup", OFF, "The deletion of a RayService is not delayed."),
    _off("DisableWaitForPodsReady", ASKED, "`true`: there is no limit on how long pods may take to be ready."),
    _on("ElasticJobsViaWorkloadSlices", ASKED, "See [elastic jobs](elastic-jobs.md).", webhooks=True),
    _off("ElasticJobsViaWorkloadSlicesWithTAS", OFF, _TOPOLOGIES),
    _off("FailureRecoveryPolicy", OFF, "Pods on lost nodes are left to Kubernetes."),
    _on("FairSharingPreemptWithinNominal", ASKED),
    _on("FairSharingPrioritizeNonBorrowing", ON, _ONE_FORM),
    _off("FastQuotaReleaseInPodIntegration", OFF, "The quota of Pods is released when none of them runs any more."),
    _on("FinishOrphanedWorkloads", ASKED, "`false`: a Workload whose job is gone is left to garbage collection."),
    _on("FlavorFungibility", ON, _ONE_FORM),
    _on("FlavorFungibilityPreserveScanProgress", ON, _ONE_FORM),
    _locked("HierarchicalCohorts"),
    _on("KueueDRAIntegration", OFF, _DEVICES),
    _off("KueueDRAIntegrationConsumableCapacity", OFF, _DEVICES),
    _on("KueueDRAIntegrationExtendedResource", OFF, _DEVICES),
    _on("KueueDRAIntegrationPartitionableDevices", OFF, _DEVICES),
    _on("KueueDRARejectWorkloadsWhenDRADisabled", ON, _DEVICES),
    _on("LWSImmutableGroupSize", ON, "The rule [admitted-pods-reshaped](rules/admitted-pods-reshaped.md) can be off."),
    _on("LocalQueueMetrics", ASKED, "`false`: as `metrics.localQueueMetrics.enable: false`."),
    _locked("ManagedJobsNamespaceSelectorAlwaysRespected"),
    _on("MetricForWorkloadCreationLatency", ASKED, "`false` leaves `workload_creation_latency_seconds` out."),
    _on("MetricsForCohorts", ASKED, "`false` leaves `cluster_queue_info` and `cohort_info` out."),
    _on("MultiKueue", ASKED, webhooks=True),
    _on("MultiKueueAdaptersForCustomJobs", ON, "Kinds from `reconciler.jobs` are dispatched like all others."),
    FeatureGate("MultiKueueAllowInsecureKubeconfigs", False, "deprecated", OFF, locked=True),
    _off("MultiKueueClusterProfile", ASKED),
    _on("MultiKueueIncrementalDispatcherConfig", ASKED, "`false`: each round nominates three more clusters."),
    _on("MultiKueueIncrementalDispatcherRespectConfigOrder", ON, _ONE_FORM),
    _off(
        "MultiKueueKubeConfigPathValidation",
        ASKED,
        "See [the decision](adr/2026-11-22-kubeconfigs-from-their-folder.md).",
        ours=True,
    ),
    _off("MultiKueueManagerQuotaAutomation", OFF, "The quota of the manager's ClusterQueues is never changed."),
    _off("MultiKueueOrchestratedPreemption", ASKED),
    _locked("MultiKueueRedoAdmissionOnEvictionInWorker"),
    _on("MultiKueueRemoteSpecSync", ASKED, "`false`: later changes of a RayService's `serveConfigV2` are not copied."),
    _locked("MultiKueueWaitForWorkloadAdmitted"),
    _locked("ObjectRetentionPolicies"),
    _on("PartialAdmission", ASKED, webhooks=True),
    _on("PodIntegrationValidateGroupOwner", ON, "The Workload of another owner is never used for a group."),
    _off("PrioritizePreemptorWorkloads", ASKED),
    _off("PriorityBoost", ASKED, "`true`: the annotation adds to the priority of the Workload.", webhooks=True),
    _on("PrioritySortingWithinCohort", ASKED),
    _locked("PropagateBatchJobLabelsToWorkload"),
    _on("QuotaCheckStrategy", ASKED, "`false`: `resources.quotaCheckStrategy` has no effect."),
    _on("ReclaimablePods", ASKED),
    _off("RecomputeAssignmentUponPreemptionTargetsOverlap", ASKED),
    _off("RejectUpdatesToCQWithInvalidOnFlavors", IDLE, _WEBHOOK, webhooks=True),
    _on("RemoveFinalizersWithStrictPatch", IDLE, _INSIDE),
    _off("SchedulerLibraryIntegration", OFF, "The Kubernetes scheduler is not consulted."),
    _off("SchedulerLongRequeueInterval", OFF, "Workloads that may fit again are tried at once."),
    _off(
        "SchedulerTimestampPreemptionBuffer",
        OFF,
        "Among equal priorities the older workload is first, however small the difference.",
    ),
    _on("SchedulingEquivalenceHashing", ON, _ONE_FORM),
    _off("ShortWorkloadNames", ASKED, "`true`: names of Workloads have at most 63 characters, and fit a label."),
    _on(
        "SkipAncestorCheckForDeletedWorkloads",
        ON,
        "An object that is being deleted is never refused because of its owners.",
    ),
    _locked(
        "SkipFinalizersForPodsSuspendedByParent",
        "Pods of Deployments and similar kinds keep the finalizer, since no other component manages them here.",
    ),
    _on("SkipReassignmentForPodOwnedWorkloads", ON, "A single Pod that was evicted is not queued again."),
    _off("SparkApplicationIntegration", OFF, "The drivers and executors of Spark are not queued."),
    _on("TASAssignmentsEncodingByHostnamePrefix", OFF, _TOPOLOGIES),
    _off("TASBalancedPlacement", OFF, _TOPOLOGIES),
    _on("TASCacheNodeMatchResults", OFF, _TOPOLOGIES),
    _off("TASCacheTopologyTree", OFF, _TOPOLOGIES),
    _on("TASCachingRemainingResources", OFF, _TOPOLOGIES),
    _on("TASFailedNodeReplacement", OFF, _TOPOLOGIES),
    _on("TASFailedNodeReplacementFailFast", OFF, _TOPOLOGIES),
    _on("TASHandleOverlappingFlavors", OFF, _TOPOLOGIES),
    _on("TASMultiLayerTopology", OFF, _TOPOLOGIES),
    _on("TASProfileMixed", OFF, _TOPOLOGIES),
    _on("TASRecomputeAssignmentWithinSchedulingCycle", OFF, _TOPOLOGIES),
    FeatureGate("TASReplaceNodeDueToNotReadyOverFixedTime", False, "deprecated", OFF, _TOPOLOGIES),
    _on("TASReplaceNodeOnNodeTaints", OFF, _TOPOLOGIES),
    _on("TASReplaceNodeOnPodTermination", OFF, _TOPOLOGIES),
    _off("TASRespectNodeAffinityPreferred", OFF, _TOPOLOGIES),
    _on("TASValidateWorkloadSliceSize", IDLE, _WEBHOOK, webhooks=True),
    _on("TLSOptions", IDLE, "The webhook has a TLS configuration of its own."),
    _on("TopologyAwareScheduling", OFF, f"{_TOPOLOGIES} With `false`, too.", webhooks=True),
    FeatureGate(
        "UnadmittedWorkloadsExplicitStatus",
        False,
        "beta",
        ASKED,
        "It has an effect only together with `UnadmittedWorkloadsObservability`.",
    ),
    FeatureGate(
        "UnadmittedWorkloadsObservability", False, "beta", ASKED, "Granular reasons of Workloads without quota."
    ),
    _on("ValidateRayAndSparkJobUpdates", ON, "Each rule about jobs can be switched off by itself."),
    _on("VectorizedResourceRequests", IDLE, _INSIDE),
    _on("VisibilityOnDemand", OFF, "There is no aggregated API server; pending lists are served at `/v1`."),
    _on(
        "WorkloadIdentifierAnnotations",
        ASKED,
        "`false`: labels name groups of Pods and prebuilt Workloads, as before 0.18.",
        webhooks=True,
    ),
    _off("WorkloadPriorityClassDefaulting", OFF, "A job without a class does not get a default one."),
    _off("WorkloadRequestUseMergePatch", IDLE, _INSIDE),
    _on("WorkloadValidateResourcesAreNonNegative", IDLE, _WEBHOOK, webhooks=True),
    _on("WorkloadValidationForPodSetMetadata", IDLE, _WEBHOOK, webhooks=True),
)
