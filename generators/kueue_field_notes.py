"""Notes on fields of Kueue's objects that differ between Kueue and Quotree, or between versions of Kueue.

All other fields of v1beta2 behave the same. The schemas in policies/schema/declarations have the names of all fields.
A field of a feature gate is supported if the gate is.
Source: Kueue v0.19.2 and main of 2026-08-23, apis/kueue; for v0.20 also its release notes.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.configuration.kueue.gates import KueueVersion


@dataclass(frozen=True, slots=True)
class FieldNote:
    """A note on one field and its subfields.

    `path`: begins with the kind, such as `Workload.spec.podSets.minCount`.
    `since`: the first version of Kueue that has it.
    `stricter`: in which way Quotree is stricter than Kueue.
    `absent`: why Quotree does not support it.
    `gate`: the feature gate that it belongs to.
    `why`: a sentence for the table.
    """

    path: str
    since: KueueVersion = KueueVersion.V0_19
    stricter: str = ""
    absent: str = ""
    gate: str = ""
    why: str = ""


_NEW = KueueVersion.V0_20
_TOPOLOGY = "TopologyAwareScheduling"
_REQUEST = "Workload.spec.podSets.topologyRequest"
_ASSIGNED = "Workload.status.admission.podSetAssignments"

NOTES: tuple[FieldNote, ...] = (
    FieldNote("ClusterQueue.spec.concurrentAdmissionPolicy", gate="ConcurrentAdmission"),
    FieldNote("ClusterQueue.status.effectiveQuotas", since=_NEW, gate="DynamicQuotaOrchestration"),
    FieldNote("Cohort.spec.parentName", stricter="a cycle is refused, and stops its whole tree"),
    FieldNote("Cohort.status.effectiveQuotas", since=_NEW, gate="DynamicQuotaOrchestration"),
    FieldNote("MultiKueueCluster.spec.clusterSource.clusterProfileRef", gate="MultiKueueClusterProfile"),
    FieldNote(
        "MultiKueueCluster.spec.clusterSource.kubeConfig",
        stricter="a file must be below `/etc/multikueue/kubeconfigs` in v0.19 as well",
    ),
    FieldNote("MultiKueueConfig.spec.quotaManagement", gate="MultiKueueManagerQuotaAutomation"),
    FieldNote("ResourceFlavor.spec.topologyName", gate=_TOPOLOGY),
    FieldNote("Topology.spec.levels", gate=_TOPOLOGY),
    FieldNote(
        "Workload.spec.podSets.minCount", why="The least value is 1 in v0.19 and 0 in v0.20; Quotree accepts 0 in both."
    ),
    FieldNote(f"{_REQUEST}.podIndexLabel", why="Without another field it requests no topology."),
    FieldNote(f"{_REQUEST}.subGroupIndexLabel", why="Without another field it requests no topology."),
    FieldNote(f"{_REQUEST}.subGroupCount", why="Without another field it requests no topology."),
    FieldNote(f"{_REQUEST}.required", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.preferred", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.unconstrained", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.podSetGroupName", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.podSetSliceRequiredTopology", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.podSetSliceSize", gate=_TOPOLOGY),
    FieldNote(f"{_REQUEST}.podsetSliceRequiredTopologyConstraints", gate="TASMultiLayerTopology"),
    FieldNote("Workload.spec.preemptionGates", gate="MultiKueueOrchestratedPreemption"),
    FieldNote(f"{_ASSIGNED}.delayedTopologyRequest", gate=_TOPOLOGY),
    FieldNote(f"{_ASSIGNED}.topologyAssignment", gate=_TOPOLOGY),
    FieldNote("Workload.status.preemptionGates", gate="MultiKueueOrchestratedPreemption"),
    FieldNote("Workload.status.reclaimablePods", gate="ReclaimablePods"),
    FieldNote("Workload.status.unhealthyNodes", gate="TASFailedNodeReplacement"),
)

OTHER_ADDITIONS: tuple[FieldNote, ...] = (
    FieldNote("the kind CapacityProvider, v1alpha1", since=_NEW, absent="another program has to distribute quota"),
    FieldNote(
        "the kind DynamicQuotaOrchestrator, v1alpha1", since=_NEW, absent="another program has to distribute quota"
    ),
    FieldNote("the kind PreemptionConfig, v1alpha1", since=_NEW, gate="ConfigurablePreemptions"),
    FieldNote("the annotation `pod-group-max-not-ready-count`", since=_NEW, gate="WaitForPodsReadyMaxNotReady"),
    FieldNote("the annotation `podset-topology-spreading`", since=_NEW, gate="TASTopologySpreading"),
    FieldNote("the annotation `preemption-config-name`", since=_NEW, gate="ConfigurablePreemptions"),
    FieldNote("the annotation `wait-for-pods-ready`", since=_NEW, gate="WorkloadLevelWaitForPodsReady"),
    FieldNote("the label `job-uid` of a Deployment's Pods", since=_NEW, gate="DeploymentJobUIDLabel"),
)
"""The additions of v0.20 that are not fields of v1beta2. Annotations and labels begin with `kueue.x-k8s.io/`."""
