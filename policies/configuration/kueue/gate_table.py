"""The feature gates of Kueue v0.19 and what becomes of each here. Later versions change this table: gates_0_20.py.

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


def on(name: str, here: Here, why: str = "", *, ours: bool | None = None, webhooks: bool = False) -> FeatureGate:
    """A gate that is beta, and on."""
    return FeatureGate(name, True, "beta", here, why, ours, webhooks=webhooks)


def off(name: str, here: Here, why: str = "", *, ours: bool | None = None, webhooks: bool = False) -> FeatureGate:
    """A gate that is alpha, and off."""
    return FeatureGate(name, False, "alpha", here, why, ours, webhooks=webhooks)


def _locked(name: str, why: str = "") -> FeatureGate:
    return FeatureGate(name, True, "GA", Here.ON, why, locked=True)


ASKED, ON, OFF, IDLE = Here
DEVICES = "ResourceClaims are not counted: a workload with claims is never admitted."
_INSIDE = "Internal to Kueue's manager: its behaviour is the same."
WEBHOOK = "The webhook reads it; set it in Quotree's own Configuration."
_ONE_FORM = "Quotree has only this behaviour."

GATES: tuple[FeatureGate, ...] = (
    on("AdmissionFairSharing", ASKED, "`false`: the section `admissionFairSharing` has no effect."),
    on("AdmissionGatedBy", ASKED, webhooks=True),
    on("AssignQueueLabelsForPods", ON, "Pods that start get the labels of their queues."),
    on(
        "CleanupProvisioningRequestsOnEviction",
        ASKED,
        "`false`: the ProvisioningRequests stay until the Workload is finished.",
    ),
    off("ConcurrentAdmission", OFF, "Workloads have no variants that compete for admission.", webhooks=True),
    off("CustomMetricLabels", ASKED, "See [labels of your own](kueue-metrics.md#labels-of-your-own)."),
    on("DeferRayServiceFinalizationForRedisCleanup", OFF, "The deletion of a RayService is not delayed."),
    off("DisableWaitForPodsReady", ASKED, "`true`: there is no limit on how long pods may take to be ready."),
    on("ElasticJobsViaWorkloadSlices", ASKED, "See [elastic jobs](elastic-jobs.md).", webhooks=True),
    off("ElasticJobsViaWorkloadSlicesWithTAS", ON, "A larger slice keeps the places of the smaller one."),
    off("FailureRecoveryPolicy", OFF, "Pods on lost nodes are left to Kubernetes."),
    on("FairSharingPreemptWithinNominal", ASKED),
    on("FairSharingPrioritizeNonBorrowing", ON, _ONE_FORM),
    off("FastQuotaReleaseInPodIntegration", OFF, "The quota of Pods is released when none of them runs any more."),
    on("FinishOrphanedWorkloads", ASKED, "`false`: a Workload whose job is gone is left to garbage collection."),
    on("FlavorFungibility", ON, _ONE_FORM),
    on("FlavorFungibilityPreserveScanProgress", ON, _ONE_FORM),
    _locked("HierarchicalCohorts"),
    on("KueueDRAIntegration", OFF, DEVICES),
    off("KueueDRAIntegrationConsumableCapacity", OFF, DEVICES),
    on("KueueDRAIntegrationExtendedResource", OFF, DEVICES),
    on("KueueDRAIntegrationPartitionableDevices", OFF, DEVICES),
    on("KueueDRARejectWorkloadsWhenDRADisabled", ON, DEVICES),
    on("LWSImmutableGroupSize", IDLE, WEBHOOK, webhooks=True),
    on("LocalQueueMetrics", ASKED, "`false`: as `metrics.localQueueMetrics.enable: false`."),
    _locked("ManagedJobsNamespaceSelectorAlwaysRespected"),
    on("MetricForWorkloadCreationLatency", ASKED, "`false` leaves `workload_creation_latency_seconds` out."),
    on("MetricsForCohorts", ASKED, "`false` leaves `cluster_queue_info` and `cohort_info` out."),
    on("MultiKueue", ASKED, webhooks=True),
    on("MultiKueueAdaptersForCustomJobs", ON, "Kinds from `reconciler.jobs` are dispatched like all others."),
    FeatureGate("MultiKueueAllowInsecureKubeconfigs", False, "deprecated", OFF, locked=True),
    off("MultiKueueClusterProfile", ASKED),
    on("MultiKueueIncrementalDispatcherConfig", ASKED, "`false`: each round nominates three more clusters."),
    on("MultiKueueIncrementalDispatcherRespectConfigOrder", ON, _ONE_FORM),
    off(
        "MultiKueueKubeConfigPathValidation",
        ASKED,
        "See [the decision](adr/2026-11-22-kubeconfigs-from-their-folder.md).",
        ours=True,
    ),
    off("MultiKueueManagerQuotaAutomation", OFF, "The quota of the manager's ClusterQueues is never changed."),
    off("MultiKueueOrchestratedPreemption", ASKED),
    _locked("MultiKueueRedoAdmissionOnEvictionInWorker"),
    on("MultiKueueRemoteSpecSync", ASKED, "`false`: later changes of a RayService's `serveConfigV2` are not copied."),
    _locked("MultiKueueWaitForWorkloadAdmitted"),
    _locked("ObjectRetentionPolicies"),
    on("PartialAdmission", ASKED, webhooks=True),
    on("PodIntegrationValidateGroupOwner", ON, "The Workload of another owner is never used for a group."),
    off("PrioritizePreemptorWorkloads", ASKED),
    off("PriorityBoost", ASKED, "`true`: the annotation adds to the priority of the Workload.", webhooks=True),
    on("PrioritySortingWithinCohort", ASKED),
    _locked("PropagateBatchJobLabelsToWorkload"),
    on("QuotaCheckStrategy", ASKED, "`false`: `resources.quotaCheckStrategy` has no effect."),
    on("ReclaimablePods", ASKED),
    off("RecomputeAssignmentUponPreemptionTargetsOverlap", ASKED),
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
    off("ShortWorkloadNames", ASKED, "`true`: names of Workloads have at most 63 characters, and fit a label."),
    on(
        "SkipAncestorCheckForDeletedWorkloads",
        ON,
        "An object that is being deleted is never refused because of its owners.",
    ),
    _locked(
        "SkipFinalizersForPodsSuspendedByParent",
        "Pods of Deployments and similar kinds keep the finalizer, since no other component manages them here.",
    ),
    on("SkipReassignmentForPodOwnedWorkloads", ASKED, "`false`: the Workload of a single Pod is queued again."),
    off("SparkApplicationIntegration", OFF, "The drivers and executors of Spark are not queued."),
    on("TASAssignmentsEncodingByHostnamePrefix", ASKED, "`false`: each assignment is written as one slice."),
    off("TASBalancedPlacement", ASKED, "`true`: a preferred level is filled evenly."),
    on("TASCacheNodeMatchResults", IDLE, _INSIDE),
    off("TASCacheTopologyTree", IDLE, _INSIDE),
    on("TASCachingRemainingResources", IDLE, _INSIDE),
    on("TASFailedNodeReplacement", ASKED, "`false`: pods on nodes that fail keep their places."),
    on(
        "TASFailedNodeReplacementFailFast",
        ASKED,
        "`false`: a workload without places for the pods of an unhealthy node is tried again, not evicted.",
    ),
    on("TASHandleOverlappingFlavors", ASKED, "`false`: what work holds on a node counts in its own flavor alone."),
    on("TASMultiLayerTopology", ASKED, "`false`: layers of slices in annotations are ignored.", webhooks=True),
    on("TASProfileMixed", ASKED, "`false`: pods that may run anywhere take the largest domains first."),
    on(
        "TASRecomputeAssignmentWithinSchedulingCycle",
        ASKED,
        "`false`: a workload whose places another one took waits for the next cycle.",
    ),
    FeatureGate(
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        False,
        "deprecated",
        ASKED,
        "`true`: a node that is not Ready for 30 s is replaced, whatever runs there.",
    ),
    on("TASReplaceNodeOnNodeTaints", ASKED, "`false`: taints make no node unhealthy."),
    on(
        "TASReplaceNodeOnPodTermination",
        ASKED,
        "`false`: a node is replaced while pods still run there, 30 s after it was last Ready.",
    ),
    off("TASRespectNodeAffinityPreferred", ASKED, "`true`: nodes that pods prefer are taken first."),
    on("TASValidateWorkloadSliceSize", IDLE, WEBHOOK, webhooks=True),
    on("TLSOptions", IDLE, "The webhook has a TLS configuration of its own."),
    on("TopologyAwareScheduling", ASKED, "`false`: [topologies](topology.md) are ignored.", webhooks=True),
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
    on("ValidateRayAndSparkJobUpdates", IDLE, WEBHOOK, webhooks=True),
    on("VectorizedResourceRequests", IDLE, _INSIDE),
    on("VisibilityOnDemand", OFF, "There is no aggregated API server; pending lists are served at `/v1`."),
    on(
        "WorkloadIdentifierAnnotations",
        ASKED,
        "`false`: labels name groups of Pods and prebuilt Workloads, as before 0.18.",
        webhooks=True,
    ),
    off("WorkloadPriorityClassDefaulting", IDLE, WEBHOOK, webhooks=True),
    off("WorkloadRequestUseMergePatch", IDLE, _INSIDE),
    on("WorkloadValidateResourcesAreNonNegative", IDLE, WEBHOOK, webhooks=True),
    on("WorkloadValidationForPodSetMetadata", IDLE, WEBHOOK, webhooks=True),
)
