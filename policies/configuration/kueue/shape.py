"""Finds values of the wrong type. Kueue cannot read a file that has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType

from policies.configuration.kueue.fault import Fault
from policies.dialects.job_shape import at
from policies.dialects.reading import Manifest

_SECTIONS = (
    *("waitForPodsReady", "waitForPodsReady.requeuingStrategy", "fairSharing", "admissionFairSharing", "resources"),
    *("admissionFairSharing.resourceWeights", "integrations", "multiKueue", "multiKueue.clusterProfile", "metrics"),
    *("multiKueue.incrementalDispatcherConfig", "managedJobsNamespaceSelector", "objectRetentionPolicies", "tls"),
    *("objectRetentionPolicies.workloads", "metrics.localQueueMetrics", "visibilityServer", "internalCertManagement"),
    *("metrics.localQueueMetrics.localQueueSelector", "leaderElection", "clientConnection", "featureGates"),
    *("controller", "health", "webhook"),
)
_LISTS = (
    *("integrations.frameworks", "integrations.externalFrameworks", "integrations.labelKeysToCopy"),
    *("fairSharing.preemptionStrategies", "multiKueue.externalFrameworks", "metrics.customLabels", "tls.cipherSuites"),
    *("resources.excludeResourcePrefixes", "resources.transformations", "resources.deviceClassMappings"),
    *("multiKueue.clusterProfile.accessProviders", "multiKueue.clusterProfile.credentialsProviders"),
    *("managedJobsNamespaceSelector.matchExpressions", "metrics.localQueueMetrics.localQueueSelector.matchExpressions"),
)
_FLAGS = (
    *("manageJobsWithoutQueueName", "waitForPodsReady.enable", "waitForPodsReady.blockAdmission", "fairSharing.enable"),
    *("metrics.enableClusterQueueResources", "metrics.localQueueMetrics.enable", "internalCertManagement.enable"),
    *("leaderElection.leaderElect",),
)
_TEXTS = ("namespace", "multiKueue.origin", "multiKueue.dispatcherName", "tls.minVersion")
_TYPES: Mapping[str, tuple[type | UnionType, str]] = {
    "clientConnection.qps": (int | float | Decimal, "a number"),
    "clientConnection.burst": (int, "a whole number"),
    **dict.fromkeys(_SECTIONS, (Mapping, "a mapping")),
    **dict.fromkeys(_LISTS, (list, "a list")),
    **dict.fromkeys(_FLAGS, (bool, "true or false")),
    **dict.fromkeys(_TEXTS, (str, "a text")),
}


def misshapen(configuration: Manifest) -> Iterator[Fault]:
    """Faults for fields with a value of the wrong type. Absent and null fields are valid."""
    for path, (wanted, name) in _TYPES.items():
        value = at(configuration, path)
        if value is not None and not isinstance(value, wanted):
            yield Fault("FieldValueTypeInvalid", path, f"expected {name}")
