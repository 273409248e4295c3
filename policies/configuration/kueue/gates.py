"""Kueue's feature gates that something here asks for, by their defaults in Kueue v0.19.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

COUNTERS, CAPACITIES = "KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegrationConsumableCapacity"
DEFAULTS: Mapping[str, bool] = {
    "AdmissionGatedBy": False,
    "ConcurrentAdmission": False,
    "ElasticJobsViaWorkloadSlices": False,
    "FairSharingPreemptWithinNominal": True,
    CAPACITIES: False,
    COUNTERS: True,
    "LocalQueueDefaulting": True,
    "MultiKueue": True,
    "MultiKueueClusterProfile": False,
    "MultiKueueKubeConfigPathValidation": True,
    "MultiKueueOrchestratedPreemption": False,
    "PartialAdmission": True,
    "PrioritizePreemptorWorkloads": False,
    "PriorityBoost": False,
    "PrioritySortingWithinCohort": True,
    "QuotaCheckStrategy": True,
    "ReclaimablePods": True,
    "RecomputeAssignmentUponPreemptionTargetsOverlap": True,
    "RejectUpdatesToCQWithInvalidOnFlavors": False,
    "TASValidateWorkloadSliceSize": True,
    "TopologyAwareScheduling": True,
    "WorkloadValidateResourcesAreNonNegative": True,
    "WorkloadValidationForPodSetMetadata": True,
}
_BY_WEBHOOKS = (
    *("AdmissionGatedBy", "ConcurrentAdmission", "ElasticJobsViaWorkloadSlices", "LocalQueueDefaulting"),
    *("PartialAdmission", "PriorityBoost", "RejectUpdatesToCQWithInvalidOnFlavors", "TASValidateWorkloadSliceSize"),
    *("TopologyAwareScheduling", "WorkloadValidateResourcesAreNonNegative", "WorkloadValidationForPodSetMetadata"),
)
OF_WEBHOOKS: Mapping[str, bool] = {gate: DEFAULTS[gate] for gate in _BY_WEBHOOKS}
"""Those that Kueue's webhooks ask for; an administrator sets them in Quotree's own Configuration."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """`chosen` are those that somebody set; the others are as in Kueue."""

    chosen: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, gate: str, default: bool | None = None) -> bool:
        """`default`: ours, where it differs from Kueue's."""
        return self.chosen.get(gate, DEFAULTS[gate] if default is None else default)
