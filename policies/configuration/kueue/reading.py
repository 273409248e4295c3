"""Reads Kueue's Configuration into values. It is first validated by Kueue's own rules, and gets Kueue's defaults.

Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from policies.amounts.requests import Transformation
from policies.configuration.kueue import values
from policies.configuration.kueue.defaults import INCREMENTAL, NAMESPACE, default_selector, defaulted, present
from policies.configuration.kueue.durations import duration
from policies.configuration.kueue.gates import FeatureGates, check_gates
from policies.configuration.kueue.validation import refuse_faults
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.model.errors import BadConfiguration
from policies.model.quantity import BadQuantity, Quantity
from policies.schema.values import value_text

GROUP, KIND = "config.kueue.x-k8s.io", "Configuration"
_USUAL = FeatureGates()


def read(manifest: Manifest, gates: FeatureGates = _USUAL, namespace: str = NAMESPACE) -> values.KueueConfiguration:
    """Read a manifest, which may be empty. Raises BadConfiguration with the path of the key.

    `gates`, `namespace`: used if the manifest does not have them.
    """
    features = replace(gates, chosen={**gates.chosen, **_gates(mapping(manifest.get("featureGates")))})
    check_gates(features)
    refuse_faults(manifest, features)
    found = defaulted(manifest)
    sharing = found.get("admissionFairSharing") if features.enabled("AdmissionFairSharing") else None
    return values.KueueConfiguration(
        gates=features,
        integrations=_integrations(mapping(manifest.get("integrations"))),
        jobs=_jobs(manifest, namespace),
        pods_ready=_pods_ready(found["waitForPodsReady"], off=features.enabled("DisableWaitForPodsReady")),
        resources=_resources(mapping(found.get("resources")), features),
        fair_sharing=_fair_sharing(found.get("fairSharing")),
        admission_fair_sharing=_admission_fair_sharing(sharing),
        retention=_retention(mapping(mapping(found.get("objectRetentionPolicies")).get("workloads"))),
        leader_election=_leader_election(mapping(found.get("leaderElection"))),
        multikueue=_multikueue(mapping(found.get("multiKueue")), features),
        metrics_off=_metrics_off(mapping(found.get("metrics")), features),
        custom_labels=tuple(_custom_labels(mapping(found.get("metrics")), features)),
        local_queues=mapping(mapping(found.get("metrics")).get("localQueueMetrics")).get("localQueueSelector"),
        sections=frozenset(manifest),
        client=_client(mapping(manifest.get("clientConnection"))),
        namespace=text(manifest.get("namespace")) or "",
    )


def check_identity(manifest: Manifest) -> None:
    """Check apiVersion and kind. Raises BadConfiguration for a manifest of another kind."""
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    if str(version).partition("/")[0] != GROUP:
        raise BadConfiguration(f"{version!r} is unknown; write {GROUP}/v1beta2", "apiVersion")
    if kind != KIND:
        raise BadConfiguration(f"{kind!r} is unknown; write {KIND}", "kind")


def _gates(section: Mapping[str, object]) -> dict[str, bool]:
    for gate, value in section.items():
        if not isinstance(value, bool):
            raise BadConfiguration(f"{value_text(value)} is neither true nor false", f"featureGates.{gate}")
    return {gate: value for gate, value in section.items() if isinstance(value, bool)}


def _integrations(section: Mapping[str, Any]) -> values.Integrations:
    frameworks, external = (dict.fromkeys(listing(section.get(key))) for key in ("frameworks", "externalFrameworks"))
    return values.Integrations(tuple(frameworks) or values.DEFAULT_FRAMEWORKS, tuple(external))


def _jobs(manifest: Manifest, namespace: str) -> values.JobSelection:
    selector = manifest.get("managedJobsNamespaceSelector")
    copied = listing(mapping(manifest.get("integrations")).get("labelKeysToCopy"))
    return values.JobSelection(
        default_selector(text(manifest.get("namespace")) or namespace) if selector is None else selector,
        manifest.get("manageJobsWithoutQueueName") is True,
        tuple(filter(None, map(text, copied))),
    )


def _pods_ready(section: Mapping[str, Any], *, off: bool) -> values.PodsReady:
    """Read waitForPodsReady. `off`: whether the feature gate turns it off, as `enable: false` does. The order of
    requeued workloads counts even then."""
    requeuing = present(mapping(section.get("requeuingStrategy")))
    by_eviction = requeuing.get("timestamp", "Eviction") == "Eviction"
    if off or section.get("enable") is False:
        return values.PodsReady(by_eviction=by_eviction)
    at, usual = "waitForPodsReady", values.PodsReady()
    timeout, recovery = duration(section["timeout"], f"{at}.timeout"), _time(section, "recoveryTimeout", at)
    return values.PodsReady(
        enabled=True,
        timeout=timeout,
        recovery_timeout=timeout if recovery is None else recovery,
        backoff_base=requeuing.get("backoffBaseSeconds", usual.backoff_base),
        backoff_limit=requeuing.get("backoffMaxSeconds", usual.backoff_limit),
        requeues=requeuing.get("backoffLimitCount"),
        by_eviction=by_eviction,
        block_admission=section.get("blockAdmission") is True,
    )


def _resources(section: Mapping[str, Any], gates: FeatureGates) -> values.Resources:
    return values.Resources(
        tuple(filter(None, map(text, listing(section.get("excludeResourcePrefixes"))))),
        dict(_transformations(listing(section.get("transformations")))),
        gates.enabled("QuotaCheckStrategy") and section.get("quotaCheckStrategy") == "IgnoreUndeclared",
        dict(_device_classes(listing(section.get("deviceClassMappings")))),
    )


def _device_classes(entries: list[Any]) -> Iterator[tuple[str, str]]:
    for index, entry in enumerate(map(mapping, entries)):
        if entry.get("sources"):
            raise BadConfiguration(
                "the reconciler does not count parts of devices yet; remove it to count whole devices, or let Kueue's "
                "manager do it",
                f"resources.deviceClassMappings[{index}].sources",
            )
        for name in filter(None, map(text, listing(entry.get("deviceClassNames")))):
            yield name, text(entry.get("name")) or ""


def _transformations(entries: list[Any]) -> Iterator[tuple[str, Transformation]]:
    for index, entry in enumerate(map(mapping, entries)):
        at, resource = f"resources.transformations[{index}]", text(entry.get("input"))
        if resource is None:
            raise BadConfiguration("the resource that is transformed is missing; name it", f"{at}.input")
        outputs = _factors(mapping(entry.get("outputs")), f"{at}.outputs")
        yield resource, Transformation(outputs, text(entry.get("multiplyBy")) or "", entry.get("strategy") == "Replace")


def _factors(outputs: Mapping[str, Any], at: str) -> dict[str, Quantity]:
    found = {}
    for resource, factor in outputs.items():
        try:
            found[resource] = Quantity.decode(factor)
        except BadQuantity as error:
            raise BadConfiguration(str(error), f"{at}.{resource}") from error
    return found


def _fair_sharing(section: Any) -> values.FairSharing:
    """Read fairSharing. `enable: false` of v1beta1 turns it off."""
    if section is None:
        return values.FairSharing()
    return values.FairSharing(section.get("enable") is not False, tuple(section["preemptionStrategies"]))


def _admission_fair_sharing(section: Any) -> values.AdmissionFairSharing | None:
    if section is None:
        return None
    at = "admissionFairSharing"
    return values.AdmissionFairSharing(
        duration(section["usageHalfLifeTime"], f"{at}.usageHalfLifeTime"),
        duration(section["usageSamplingInterval"], f"{at}.usageSamplingInterval"),
        {resource: Fraction(str(weight)) for resource, weight in mapping(section.get("resourceWeights")).items()},
    )


def _retention(section: Mapping[str, Any]) -> values.RetentionPolicies:
    at = "objectRetentionPolicies.workloads"
    return values.RetentionPolicies(_time(section, "afterFinished", at), _time(section, "afterDeactivatedByKueue", at))


def _leader_election(section: Mapping[str, Any]) -> values.LeaderElection:
    return values.LeaderElection(
        *(_time(section, key, "leaderElection") for key in ("leaseDuration", "renewDeadline", "retryPeriod"))
    )


def _client(section: Mapping[str, Any]) -> values.ClientLimits:
    """Read clientConnection. As in Kubernetes' client, a number of 0 counts as absent."""
    return values.ClientLimits(float(section.get("qps") or 0) or None, section.get("burst") or None)


def _multikueue(section: Mapping[str, Any], gates: FeatureGates) -> values.MultiKueueValues:
    step = mapping(section.get("incrementalDispatcherConfig")).get("stepSize")
    incremental = section.get("dispatcherName") == INCREMENTAL and gates.enabled(
        "MultiKueueIncrementalDispatcherConfig"
    )
    return values.MultiKueueValues(
        text(section.get("origin")),
        _time(section, "workerLostTimeout", "multiKueue"),
        _time(section, "gcInterval", "multiKueue"),
        text(section.get("dispatcherName")),
        step if incremental else None,
        dict(_providers(mapping(section.get("clusterProfile")))),
    )


def _providers(profile: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The access providers of a profile. The key may have its new or its old name."""
    for each in map(mapping, listing(profile.get("accessProviders")) or listing(profile.get("credentialsProviders"))):
        yield text(each.get("name")) or "", mapping(each.get("execConfig"))


def _metrics_off(section: Mapping[str, Any], gates: FeatureGates) -> frozenset[str]:
    local = mapping(section.get("localQueueMetrics")).get("enable") is not False
    exported = {
        values.CLUSTER_QUEUE_RESOURCES: section.get("enableClusterQueueResources") is not False,
        values.LOCAL_QUEUE_METRICS: local and gates.enabled("LocalQueueMetrics"),
        values.METRICS_FOR_COHORTS: gates.enabled("MetricsForCohorts"),
        values.UNADMITTED_WORKLOADS: gates.enabled("UnadmittedWorkloadsObservability"),
        values.CREATION_LATENCY: gates.enabled("MetricForWorkloadCreationLatency"),
    }
    return frozenset(key for key, value in exported.items() if not value)


def _custom_labels(section: Mapping[str, Any], gates: FeatureGates) -> Iterator[values.CustomLabel]:
    if not gates.enabled("CustomMetricLabels"):
        return
    for entry in map(mapping, listing(section.get("customLabels"))):
        name, kind = str(entry.get("name")), str(entry.get("sourceKind") or "ClusterQueue")
        annotation = text(entry.get("sourceAnnotationKey"))
        key = annotation or text(entry.get("sourceLabelKey")) or name
        tracked = frozenset(map(str, listing(entry.get("trackedValues"))))
        yield values.CustomLabel(name, kind, key, bool(annotation), tracked)


def _time(section: Mapping[str, Any], key: str, at: str) -> int | None:
    value = section.get(key)
    return None if value is None else duration(value, f"{at}.{key}")
