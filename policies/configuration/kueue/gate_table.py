"""Kueue's feature gates and what becomes of each here: the one table of them, for code and documentation.

Source: Kueue v0.19.2, pkg/features.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Here(StrEnum):
    """Of the reconciler. ASKED: both values do what they do in Kueue. ON and OFF: there is only this one behaviour; the
    other value is refused, unless it is Kueue's default. IDLE: either value may be set and changes nothing here.
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
_INSIDE = "How Kueue's program works inside; what it does is the same."
_WEBHOOK = "The webhook asks for it; set it in Quotree's own Configuration."
_ONE_FORM = "There is no other behaviour here."

GATES: tuple[FeatureGate, ...] = (
    _on("AdmissionFairSharing", ASKED, "`false`: the section `admissionFairSharing` does not count."),
    _on("AdmissionGatedBy", ASKED, webhooks=True),
    _on("AssignQueueLabelsForPods", ON, "Pods that start get the labels of their queues."),
    _on("CleanupProvisioningRequestsOnEviction", ASKED, "`false`: they stay until the Workload is finished."),
    _off("ConcurrentAdmission", OFF, "A workload has no variants that race.", webhooks=True),
    _off("CustomMetricLabels", ASKED, "See [labels of your own](metrics.md#labels-of-your-own)."),
    _on("DeferRayServiceFinalizationForRedisCleanup", OFF, "A RayService that goes is not waited for."),
    _off("DisableWaitForPodsReady", ASKED, "`true`: pods may take for ever to be ready."),
    _on("ElasticJobsViaWorkloadSlices", ASKED, "See [elastic jobs](elastic-jobs.md).", webhooks=True),
    _off("ElasticJobsViaWorkloadSlicesWithTAS", OFF, _TOPOLOGIES),
    _off("FailureRecoveryPolicy", OFF, "Pods on lost nodes are left to Kubernetes."),
    _on("FairSharingPreemptWithinNominal", ASKED),
    _on("FairSharingPrioritizeNonBorrowing", ON, _ONE_FORM),
    _off("FastQuotaReleaseInPodIntegration", OFF, "The quota of Pods is free once none of them runs."),
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
    _on("MultiKueueAdaptersForCustomJobs", ON, "Kinds that are described are dispatched as all others."),
    FeatureGate("MultiKueueAllowInsecureKubeconfigs", False, "deprecated", OFF, locked=True),
    _off("MultiKueueClusterProfile", ASKED),
    _on("MultiKueueIncrementalDispatcherConfig", ASKED, "`false`: each round nominates three clusters more."),
    _on("MultiKueueIncrementalDispatcherRespectConfigOrder", ON, _ONE_FORM),
    _off(
        "MultiKueueKubeConfigPathValidation",
        ASKED,
        "See [the decision](adr/2026-11-22-kubeconfigs-from-their-folder.md).",
        ours=True,
    ),
    _off("MultiKueueManagerQuotaAutomation", OFF, "The quota of the manager's ClusterQueues is what they say."),
    _off("MultiKueueOrchestratedPreemption", ASKED),
    _locked("MultiKueueRedoAdmissionOnEvictionInWorker"),
    _on("MultiKueueRemoteSpecSync", ASKED, "`false`: the `serveConfigV2` of a RayService stays as it was copied."),
    _locked("MultiKueueWaitForWorkloadAdmitted"),
    _locked("ObjectRetentionPolicies"),
    _on("PartialAdmission", ASKED, webhooks=True),
    _on("PodIntegrationValidateGroupOwner", ON, "A Workload of others is never taken for that of a group."),
    _off("PrioritizePreemptorWorkloads", ASKED),
    _off("PriorityBoost", ASKED, "`true`: the annotation adds to the priority of its Workload.", webhooks=True),
    _on("PrioritySortingWithinCohort", ASKED),
    _locked("PropagateBatchJobLabelsToWorkload"),
    _on("QuotaCheckStrategy", ASKED, "`false`: `resources.quotaCheckStrategy` does not count."),
    _on("ReclaimablePods", ASKED),
    _off("RecomputeAssignmentUponPreemptionTargetsOverlap", ASKED),
    _off("RejectUpdatesToCQWithInvalidOnFlavors", IDLE, _WEBHOOK, webhooks=True),
    _on("RemoveFinalizersWithStrictPatch", IDLE, _INSIDE),
    _off("SchedulerLibraryIntegration", OFF, "The scheduler of Kubernetes is not asked."),
    _off("SchedulerLongRequeueInterval", OFF, "What may fit again is looked at at once."),
    _off("SchedulerTimestampPreemptionBuffer", OFF, "Among equal priorities the older goes first, by any difference."),
    _on("SchedulingEquivalenceHashing", ON, _ONE_FORM),
    _off("ShortWorkloadNames", ASKED, "`true`: names of Workloads have at most 63 characters, and fit a label."),
    _on("SkipAncestorCheckForDeletedWorkloads", ON, "An object that is being deleted is never refused for its owners."),
    _locked(
        "SkipFinalizersForPodsSuspendedByParent",
        "Pods of Deployments and the like have the finalizer all the same: nobody else marks them here.",
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
    FeatureGate("UnadmittedWorkloadsExplicitStatus", False, "beta", ASKED, "It counts with the other one alone."),
    FeatureGate(
        "UnadmittedWorkloadsObservability", False, "beta", ASKED, "Granular reasons of Workloads without quota."
    ),
    _on("ValidateRayAndSparkJobUpdates", ON, "The rules about jobs can be off one by one."),
    _on("VectorizedResourceRequests", IDLE, _INSIDE),
    _on("VisibilityOnDemand", OFF, "There is no aggregated API server; pending lists are served at `/v1`."),
    _on(
        "WorkloadIdentifierAnnotations",
        ASKED,
        "`false`: labels name groups of Pods and prebuilt Workloads, as before 0.18.",
        webhooks=True,
    ),
    _off("WorkloadPriorityClassDefaulting", OFF, "A job that names no class gets none by default."),
    _off("WorkloadRequestUseMergePatch", IDLE, _INSIDE),
    _on("WorkloadValidateResourcesAreNonNegative", IDLE, _WEBHOOK, webhooks=True),
    _on("WorkloadValidationForPodSetMetadata", IDLE, _WEBHOOK, webhooks=True),
)
