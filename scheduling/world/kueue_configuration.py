"""Converts Kueue's Configuration into settings of the engine."""

from __future__ import annotations

from policies.amounts.devices import DeviceSettings
from policies.configuration.kueue.gates import ORCHESTRATION, SEVERAL_NODES, TOPOLOGIES, FeatureGates, KueueVersion
from policies.configuration.kueue.values import KueueConfiguration
from scheduling.objects.order import Ordering
from scheduling.objects.pod_sets import RequestGates
from scheduling.objects.requests import Counting
from scheduling.queues.consumption import UsageDecay
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.node_failure import FailureGates
from scheduling.status.observability import Observability
from scheduling.status.requeue import RequeueBackoff
from scheduling.topology.placing import TopologyGates


def options_of(configuration: KueueConfiguration, *, compat: bool = False) -> Options:
    """The options of the engine. `compat`: decide as Kueue even where Quotree deviates on purpose."""
    gates = configuration.gates
    return Options(
        fair_sharing=configuration.fair_sharing.enabled,
        strategies=configuration.fair_sharing.strategies,
        ignore_undeclared=configuration.resources.ignore_undeclared,
        partial_admission=gates.enabled("PartialAdmission"),
        recompute_on_overlap=gates.enabled("RecomputeAssignmentUponPreemptionTargetsOverlap"),
        preemptors_first=gates.enabled("PrioritizePreemptorWorkloads"),
        nominal_first=gates.enabled("FairSharingPreemptWithinNominal"),
        admission_gates=gates.enabled("AdmissionGatedBy"),
        elastic=gates.enabled("ElasticJobsViaWorkloadSlices"),
        compat=compat,
        gated_preemption=gates.enabled("MultiKueueOrchestratedPreemption"),
        orchestrated=gates.enabled(ORCHESTRATION),
        recompute_places=gates.enabled("TASRecomputeAssignmentWithinSchedulingCycle"),
        topologies=gates.enabled(TOPOLOGIES),
        encode_by_prefix=gates.enabled("TASAssignmentsEncodingByHostnamePrefix"),
        fail_fast=gates.enabled("TASFailedNodeReplacementFailFast"),
        replace_together=gates.enabled(SEVERAL_NODES),
    )


def topology_gates_of(configuration: KueueConfiguration) -> TopologyGates | None:
    """The gates for topologies; None if pods are not placed in topologies."""
    gates = configuration.gates
    if not gates.enabled(TOPOLOGIES):
        return None
    return TopologyGates(
        mixed=gates.enabled("TASProfileMixed"),
        balanced=gates.enabled("TASBalancedPlacement"),
        preferred=gates.enabled("TASRespectNodeAffinityPreferred"),
        overlapping=gates.enabled("TASHandleOverlappingFlavors"),
        short_slices=gates.enabled("TASPartialSlices"),
        leader_filter=gates.enabled("TASLeaderPodSetFeasibility"),
        each_node=gates.enabled("TASNodeFeasibilityForAllLevels"),
    )


def failure_gates_of(configuration: KueueConfiguration) -> FailureGates | None:
    """The gates for failed nodes; None if their pods never get other places."""
    gates = configuration.gates
    if not gates.enabled("TASFailedNodeReplacement"):
        return None
    return FailureGates(
        pod_termination=gates.enabled("TASReplaceNodeOnPodTermination"),
        fixed_time=gates.enabled("TASReplaceNodeDueToNotReadyOverFixedTime"),
        taints=gates.enabled("TASReplaceNodeOnNodeTaints"),
        together=gates.enabled(SEVERAL_NODES),
    )


def requests_of(gates: FeatureGates) -> RequestGates:
    return RequestGates(gates.enabled(TOPOLOGIES), gates.enabled("TASMultiLayerTopology"))


def ordering_of(configuration: KueueConfiguration) -> Ordering:
    gates = configuration.gates
    return Ordering(
        by_eviction=configuration.pods_ready.by_eviction,
        by_priority=gates.enabled("PrioritySortingWithinCohort"),
        boosted=gates.enabled("PriorityBoost"),
    )


def counting_of(configuration: KueueConfiguration) -> Counting:
    resources, gates = configuration.resources, configuration.gates
    return Counting(
        resources.excluded_prefixes,
        resources.transformations,
        gates.enabled("ReclaimablePods"),
        not gates.enabled("SchedulingEquivalenceHashingIgnorePodSetName"),
        transforms_excluded=gates.version is not KueueVersion.V0_19,
        devices=DeviceSettings(
            resources.device_classes,
            gates.enabled("KueueDRAIntegration"),
            gates.enabled("KueueDRARejectWorkloadsWhenDRADisabled"),
            gates.enabled("KueueDRAIntegrationExtendedResource"),
            ignores_admin=gates.version is not KueueVersion.V0_19,
        ),
    )


def observability_of(configuration: KueueConfiguration) -> Observability:
    """The settings for reasons in conditions. The second gate needs the first."""
    enabled = configuration.gates.enabled
    return Observability(enabled("UnadmittedWorkloadsObservability"), enabled("UnadmittedWorkloadsExplicitStatus"))


def waiting_of(configuration: KueueConfiguration) -> WaitForPodsReady | None:
    """The settings of waitForPodsReady; None if there is no timeout."""
    ready = configuration.pods_ready
    if not ready.enabled:
        return None
    return WaitForPodsReady(
        ready.timeout,
        ready.recovery_timeout or None,
        RequeueBackoff(ready.backoff_base, ready.backoff_limit),
        ready.requeues,
        ready.block_admission,
    )


def decay_of(configuration: KueueConfiguration) -> UsageDecay | None:
    """The settings of usage decay; None without admission fair sharing."""
    sharing = configuration.admission_fair_sharing
    if sharing is None:
        return None
    anchored = configuration.gates.enabled("AdmissionFairSharingAnchorAtQuotaReservation")
    return UsageDecay(sharing.half_life, sharing.sampling_interval, sharing.weights, anchored)
