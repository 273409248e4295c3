"""The feature gates of Kueue v0.19 and the support of each in Quotree. Later versions change this table: gates_0_20.py.

Source: Kueue v0.19.2, pkg/features.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Here(StrEnum):
    """The support of a feature gate in the reconciler.

    SUPPORTED: both values have the same effect as in Kueue.
    ON, OFF: only this behaviour exists. The other value is refused, unless it is Kueue's default.
    IDLE: both values are accepted and have no effect.
    """

    SUPPORTED = "supported"
    ON = "always on"
    OFF = "always off"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """A feature gate.

    `on`: the default in Kueue.
    `stage`: alpha, beta or GA.
    `here`: the support in the reconciler.
    `why`: a sentence for the documentation.
    `ours`: the default in Quotree if it differs, else None.
    `locked`: whether the gate cannot be set to another value.
    `webhooks`: whether Kueue's webhooks read it, so that it must be set in Quotree's own Configuration, too.
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
        """The default in Quotree."""
        return self.on if self.ours is None else self.ours


def on(name: str, here: Here, why: str = "", *, webhooks: bool = False) -> FeatureGate:
    """A beta gate, which is on by default."""
    return FeatureGate(name, True, "beta", here, why, webhooks=webhooks)


def off(name: str, here: Here, why: str = "", *, ours: bool | None = None, webhooks: bool = False) -> FeatureGate:
    """An alpha gate, which is off by default."""
    return FeatureGate(name, False, "alpha", here, why, ours, webhooks=webhooks)


def _locked(name: str, why: str = "") -> FeatureGate:
    return FeatureGate(name, True, "GA", Here.ON, why, locked=True)


SUPPORTED, ON, OFF, IDLE = Here
PARTS = "Whole devices are counted, and neither their parts nor which of them are free."
_INSIDE = "Internal to Kueue's manager: its behaviour is the same."
WEBHOOK = "The webhook reads it; set it in Quotree's own Configuration."
_ONE_FORM = "Quotree has only this behaviour."

GATES: tuple[FeatureGate, ...] = (
    on("AdmissionFairSharing", SUPPORTED, "`false`: the section `admissionFairSharing` has no effect."),
    on("AdmissionGatedBy", SUPPORTED, webhooks=True),
    on("AssignQueueLabelsForPods", ON, "Pods that start get the labels of their queues."),
    on(
        "CleanupProvisioningRequestsOnEviction",
        SUPPORTED,
        "`false`: the ProvisioningRequests stay until the Workload is finished.",
    ),
    off("ConcurrentAdmission", OFF, "Workloads have no variants that compete for admission.", webhooks=True),
    off("CustomMetricLabels", SUPPORTED, "See [labels of your own](kueue-metrics.md#labels-of-your-own)."),
    on(
        "DeferRayServiceFinalizationForRedisCleanup",
        OFF,
        "The deletion of a RayService is not delayed; see [jobs](kueue-jobs.md#jobs) for the clean-up of Redis.",
    ),
    off("DisableWaitForPodsReady", SUPPORTED, "`true`: pods may take any time to become ready."),
    on("ElasticJobsViaWorkloadSlices", SUPPORTED, "See [elastic jobs](elastic-jobs.md).", webhooks=True),
    off("ElasticJobsViaWorkloadSlicesWithTAS", ON, "A larger slice keeps the places of the smaller one."),
    off("FailureRecoveryPolicy", OFF, "Pods on lost nodes are left to Kubernetes."),
    on("FairSharingPreemptWithinNominal", SUPPORTED),
    on("FairSharingPrioritizeNonBorrowing", ON, _ONE_FORM),
    off("FastQuotaReleaseInPodIntegration", OFF, "The quota of Pods is released when none of them runs any more."),
    on("FinishOrphanedWorkloads", SUPPORTED, "`false`: a Workload whose job is gone is left to garbage collection."),
    on("FlavorFungibility", ON, _ONE_FORM),
    on("FlavorFungibilityPreserveScanProgress", ON, _ONE_FORM),
    _locked("HierarchicalCohorts"),
    on("KueueDRAIntegration", SUPPORTED, "See [devices](kueue-devices.md)."),
    off("KueueDRAIntegrationConsumableCapacity", OFF, PARTS),
    on("KueueDRAIntegrationExtendedResource", SUPPORTED),
    on("KueueDRAIntegrationPartitionableDevices", OFF, PARTS),
    on(
        "KueueDRARejectWorkloadsWhenDRADisabled",
        SUPPORTED,
        "`false`, without KueueDRAIntegration: claims are ignored.",
    ),
    on("LWSImmutableGroupSize", IDLE, WEBHOOK, webhooks=True),
    on("LocalQueueMetrics", SUPPORTED, "`false`: as `metrics.localQueueMetrics.enable: false`."),
    _locked("ManagedJobsNamespaceSelectorAlwaysRespected"),
    on("MetricForWorkloadCreationLatency", SUPPORTED, "`false` leaves `workload_creation_latency_seconds` out."),
    on("MetricsForCohorts", SUPPORTED, "`false` leaves `cluster_queue_info` and `cohort_info` out."),
    on("MultiKueue", SUPPORTED, webhooks=True),
    on("MultiKueueAdaptersForCustomJobs", ON, "Kinds from `reconciler.jobs` are dispatched like all others."),
    FeatureGate("MultiKueueAllowInsecureKubeconfigs", False, "deprecated", OFF, locked=True),
    off("MultiKueueClusterProfile", SUPPORTED),
    on("MultiKueueIncrementalDispatcherConfig", SUPPORTED, "`false`: each round nominates three more clusters."),
    on("MultiKueueIncrementalDispatcherRespectConfigOrder", ON, _ONE_FORM),
    off(
        "MultiKueueKubeConfigPathValidation",
        SUPPORTED,
        "See [the decision](adr/2026-11-22-kubeconfigs-from-their-folder.md).",
        ours=True,
    ),
    off("MultiKueueManagerQuotaAutomation", OFF, "The quota of the manager's ClusterQueues is never changed."),
    off("MultiKueueOrchestratedPreemption", SUPPORTED),
    _locked("MultiKueueRedoAdmissionOnEvictionInWorker"),
    on(
        "MultiKueueRemoteSpecSync",
        SUPPORTED,
        "`false`: later changes of a RayService's `serveConfigV2` are not copied.",
    ),
    _locked("MultiKueueWaitForWorkloadAdmitted"),
    _locked("ObjectRetentionPolicies"),
    on("PartialAdmission", SUPPORTED, webhooks=True),
    on("PodIntegrationValidateGroupOwner", ON, "The Workload of another owner is never used for a group."),
    off("PrioritizePreemptorWorkloads", SUPPORTED),
    off("PriorityBoost", SUPPORTED, "`true`: the annotation adds to the priority of the Workload.", webhooks=True),
    on("PrioritySortingWithinCohort", SUPPORTED),
    _locked("PropagateBatchJobLabelsToWorkload"),
    on("QuotaCheckStrategy", SUPPORTED, "`false`: `resources.quotaCheckStrategy` has no effect."),
    on("ReclaimablePods", SUPPORTED),
    off("RecomputeAssignmentUponPreemptionTargetsOverlap", SUPPORTED),
    off("RejectUpdatesToCQWithInvalidOnFlavors", IDLE, WEBHOOK, webhooks=True),
    on("RemoveFinalizersWithStrictPatch", IDLE, _INSIDE),
    off("SchedulerLibraryIntegration", OFF, "The Kubernetes scheduler is not consulted."),
    off("SchedulerLongRequeueInterval", OFF, "Workloads that may fit again are tried at once."),
    off(
        "SchedulerTimestampPreemptionBuffer",
        OFF,
        "Among equal priorities the older workload is first, however small the difference.",
    ),
    on("SchedulingEquivalenceHashing", ON, _ONE_FORM),
    off("ShortWorkloadNames", SUPPORTED, "`true`: names of Workloads have at most 63 characters, and fit a label."),
    on(
        "SkipAncestorCheckForDeletedWorkloads",
        ON,
        "An object that is being deleted is never refused because of its owners.",
    ),
    _locked(
        "SkipFinalizersForPodsSuspendedByParent",
        "Pods of Deployments and similar kinds keep the finalizer, since no other component manages them here.",
    ),
    on("SkipReassignmentForPodOwnedWorkloads", SUPPORTED, "`false`: the Workload of a single Pod is queued again."),
    off("SparkApplicationIntegration", OFF, "The drivers and executors of Spark are not queued."),
    on("TASAssignmentsEncodingByHostnamePrefix", SUPPORTED, "`false`: each assignment is written as one slice."),
    off("TASBalancedPlacement", SUPPORTED, "`true`: a preferred level is filled evenly."),
    on("TASCacheNodeMatchResults", IDLE, _INSIDE),
    off("TASCacheTopologyTree", IDLE, _INSIDE),
    on("TASCachingRemainingResources", IDLE, _INSIDE),
    on("TASFailedNodeReplacement", SUPPORTED, "`false`: pods on nodes that fail keep their places."),
    on(
        "TASFailedNodeReplacementFailFast",
        SUPPORTED,
        "`false`: a workload without places for the pods of an unhealthy node is tried again, not evicted.",
    ),
    on("TASHandleOverlappingFlavors", SUPPORTED, "`false`: what work holds on a node counts in its own flavor alone."),
    on("TASMultiLayerTopology", SUPPORTED, "`false`: layers of slices in annotations are ignored.", webhooks=True),
    on("TASProfileMixed", SUPPORTED, "`false`: pods that may run anywhere take the largest domains first."),
    on(
        "TASRecomputeAssignmentWithinSchedulingCycle",
        SUPPORTED,
        "`false`: a workload whose places another one took waits for the next cycle.",
    ),
    FeatureGate(
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        False,
        "deprecated",
        SUPPORTED,
        "`true`: a node that is not Ready for 30 s is replaced, whatever runs there.",
    ),
    on("TASReplaceNodeOnNodeTaints", SUPPORTED, "`false`: taints make no node unhealthy."),
    on(
        "TASReplaceNodeOnPodTermination",
        SUPPORTED,
        "`false`: a node is replaced while pods still run there, 30 s after it was last Ready.",
    ),
    off("TASRespectNodeAffinityPreferred", SUPPORTED, "`true`: nodes that pods prefer are taken first."),
    on("TASValidateWorkloadSliceSize", IDLE, WEBHOOK, webhooks=True),
    on("TLSOptions", IDLE, "The webhook has a TLS configuration of its own."),
    on("TopologyAwareScheduling", SUPPORTED, "`false`: [topologies](topology.md) are ignored.", webhooks=True),
    FeatureGate(
        "UnadmittedWorkloadsExplicitStatus",
        False,
        "beta",
        SUPPORTED,
        "It has an effect only together with `UnadmittedWorkloadsObservability`.",
    ),
    FeatureGate(
        "UnadmittedWorkloadsObservability", False, "beta", SUPPORTED, "Granular reasons of Workloads without quota."
    ),
    on("ValidateRayAndSparkJobUpdates", IDLE, WEBHOOK, webhooks=True),
    on("VectorizedResourceRequests", IDLE, _INSIDE),
    on("VisibilityOnDemand", OFF, "Pending lists are served in [another API group](reconciler-api.md)."),
    on(
        "WorkloadIdentifierAnnotations",
        SUPPORTED,
        "`false`: labels name groups of Pods and prebuilt Workloads, as before 0.18.",
        webhooks=True,
    ),
    off("WorkloadPriorityClassDefaulting", IDLE, WEBHOOK, webhooks=True),
    off("WorkloadRequestUseMergePatch", IDLE, _INSIDE),
    on("WorkloadValidateResourcesAreNonNegative", IDLE, WEBHOOK, webhooks=True),
    on("WorkloadValidationForPodSetMetadata", IDLE, WEBHOOK, webhooks=True),
)
