"""Validates a Configuration as Kueue's manager does, so that a file is checked before Kueue or Quotree runs with it.

Source: Kueue v0.19, pkg/config, validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType

from policies.configuration.kueue import sections
from policies.configuration.kueue.defaults import defaulted
from policies.configuration.kueue.devices import device_classes
from policies.configuration.kueue.fault import Fault
from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.kueue.metric_labels import metric_labels
from policies.configuration.kueue.multikueue import multikueue
from policies.configuration.kueue.namespaces import integrations, managed_namespaces
from policies.configuration.kueue.tls import tls
from policies.dialects.job_shape import at
from policies.dialects.reading import Manifest
from policies.model.errors import BadConfiguration

_USUAL = FeatureGates()
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


def faults(configuration: Manifest, gates: FeatureGates = _USUAL) -> Iterator[Fault]:
    """The faults of a configuration to which no defaults were added."""
    yield from sections.pods_ready(configuration)
    yield from integrations(configuration)
    yield from multikueue(configuration)
    yield from sections.fair_sharing(configuration)
    yield from sections.admission_fair_sharing(configuration)
    yield from sections.certificates(configuration)
    yield from sections.transformations(configuration, gates)
    yield from device_classes(configuration, gates)
    yield from managed_namespaces(configuration)
    yield from sections.retention(configuration)
    yield from tls(configuration)
    yield from sections.visibility(configuration)
    yield from metric_labels(configuration)
    yield from sections.local_queue_metrics(configuration)
    if gates.enabled("QuotaCheckStrategy"):
        yield from sections.quota_check(configuration)


def refuse_faults(configuration: Manifest, gates: FeatureGates = _USUAL) -> None:
    """Validate a configuration after its defaults are set.

    Raises BadConfiguration for the first fault, with its path.
    """
    for fault in (*misshapen(configuration), *faults(defaulted(configuration), gates)):
        raise BadConfiguration(fault.message, fault.field)


def misshapen(configuration: Manifest) -> Iterator[Fault]:
    """Faults for fields with a value of the wrong type, with which Kueue cannot read a file. Null counts as absent."""
    for path, (wanted, name) in _TYPES.items():
        value = at(configuration, path)
        if value is not None and not isinstance(value, wanted):
            yield Fault("FieldValueTypeInvalid", path, f"expected {name}")
