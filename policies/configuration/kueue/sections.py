"""Finds faults of the smaller sections."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from ipaddress import ip_address
from math import inf

from policies.configuration.kueue.defaults import STRATEGIES
from policies.configuration.kueue.durations import nanoseconds, no_duration
from policies.configuration.kueue.fault import PODS, Fault, duplicate, invalid, required, reserved_name, unsupported
from policies.configuration.kueue.gates import RESERVED_NAMES, FeatureGates
from policies.configuration.kueue.grammar import duration_faults, is_service_name, label_selector_faults, number_faults
from policies.dialects.labels import is_domain
from policies.dialects.reading import Manifest, integer, listing, mapping
from policies.schema.values import value_text

CHECKS = ("BlockUndeclared", "IgnoreUndeclared")


def pods_ready(configuration: Manifest) -> Iterator[Fault]:
    """Faults of waitForPodsReady; none if `enable: false` of v1beta1 turns the section off."""
    at, section = "waitForPodsReady", configuration.get("waitForPodsReady")
    if section is None or mapping(section).get("enable") is False:
        return
    section = mapping(section)
    if nanoseconds(section.get("timeout", "0")) == 0:
        yield required(f"{at}.timeout", "say how long pods may take to be ready")
    yield from duration_faults(section.get("timeout"), f"{at}.timeout")
    yield from duration_faults(section.get("recoveryTimeout"), f"{at}.recoveryTimeout")
    requeuing, under = mapping(section.get("requeuingStrategy")), f"{at}.requeuingStrategy"
    timestamp = requeuing.get("timestamp")
    if timestamp not in (None, "Creation", "Eviction"):
        yield unsupported(f"{under}.timestamp", timestamp, "Creation", "Eviction")
    for key in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        yield from number_faults(requeuing.get(key), 0, f"{under}.{key}")


def local_queue_metrics(configuration: Manifest) -> Iterator[Fault]:
    chosen = mapping(mapping(configuration.get("metrics")).get("localQueueMetrics")).get("localQueueSelector")
    yield from label_selector_faults(chosen, "metrics.localQueueMetrics.localQueueSelector")


def fair_sharing(configuration: Manifest) -> Iterator[Fault]:
    section, at = configuration.get("fairSharing"), "fairSharing.preemptionStrategies"
    if section is None:
        return
    named = listing(mapping(section).get("preemptionStrategies"))
    if not named:
        yield required(at, f"name {' and '.join(STRATEGIES)}, or one of them")
    elif tuple(named) not in ((STRATEGIES[0],), (STRATEGIES[1],), STRATEGIES):
        yield unsupported(at, named, f"{STRATEGIES[0]}", f"{STRATEGIES[1]}", "both in this order")


def admission_fair_sharing(configuration: Manifest) -> Iterator[Fault]:
    section, at = configuration.get("admissionFairSharing"), "admissionFairSharing"
    if section is None:
        return
    section = mapping(section)
    yield from duration_faults(section.get("usageHalfLifeTime"), f"{at}.usageHalfLifeTime")
    interval = section.get("usageSamplingInterval", "0s")
    length = nanoseconds(interval)
    if length is None:
        yield no_duration(interval, f"{at}.usageSamplingInterval")
    elif length <= 0:
        yield invalid(f"{at}.usageSamplingInterval", f"{interval} is not above 0; say how often usage is sampled")
    for resource, weight in mapping(section.get("resourceWeights")).items():
        if isinstance(weight, bool) or not isinstance(weight, int | float | Decimal) or not 0 <= weight < inf:
            yield invalid(f"{at}.resourceWeights[{resource}]", f"{value_text(weight)} is not a number of 0 or more")


def certificates(configuration: Manifest) -> Iterator[Fault]:
    section, at = mapping(configuration.get("internalCertManagement")), "internalCertManagement"
    if section.get("enable") is False:
        return
    service, secret = section.get("webhookServiceName"), section.get("webhookSecretName")
    if service is not None and not (isinstance(service, str) and is_service_name(service)):
        yield invalid(f"{at}.webhookServiceName", f"{service!r} is not a valid Service name")
    if secret is not None and not (isinstance(secret, str) and is_domain(secret)):
        yield invalid(f"{at}.webhookSecretName", f"{secret!r} is not a valid Secret name")


def transformations(configuration: Manifest, gates: FeatureGates) -> Iterator[Fault]:
    earlier, reserved = set[str](), gates.enabled(RESERVED_NAMES)
    for index, entry in enumerate(listing(mapping(configuration.get("resources")).get("transformations"))):
        at, entry = f"resources.transformations[{index}]", mapping(entry)
        strategy, source = entry.get("strategy"), str(entry.get("input", ""))
        if strategy not in ("Retain", "Replace"):
            yield unsupported(f"{at}.strategy", strategy, "Retain", "Replace")
        if source in earlier:
            yield duplicate(f"{at}.input", source)
        earlier.add(source)
        if reserved and PODS in mapping(entry.get("outputs")):
            yield reserved_name(f"{at}.outputs[{PODS}]")


def quota_check(configuration: Manifest) -> Iterator[Fault]:
    resources, at = mapping(configuration.get("resources")), "resources.quotaCheckStrategy"
    strategy = resources.get("quotaCheckStrategy")
    if strategy is None:
        return
    if strategy == "IgnoreUndeclared" and listing(resources.get("excludeResourcePrefixes")):
        yield invalid(at, "undeclared resources are ignored anyway; remove resources.excludeResourcePrefixes")
    if strategy not in CHECKS:
        yield unsupported(at, strategy, *CHECKS)


def retention(configuration: Manifest) -> Iterator[Fault]:
    section = mapping(mapping(configuration.get("objectRetentionPolicies")).get("workloads"))
    for key in ("afterFinished", "afterDeactivatedByKueue"):
        yield from duration_faults(section.get(key), f"objectRetentionPolicies.workloads.{key}")


def visibility(configuration: Manifest) -> Iterator[Fault]:
    section, at = mapping(configuration.get("visibilityServer")), "visibilityServer"
    address, port = section.get("bindAddress"), section.get("bindPort")
    if address is not None and not _is_address(address):
        yield invalid(f"{at}.bindAddress", f"{address!r} is not a valid IP address")
    if port is not None and not 1 <= (integer(port) or 0) <= 65535:
        yield invalid(f"{at}.bindPort", f"{value_text(port)} is not a valid port; write 1 to 65535")


def _is_address(value: object) -> bool:
    """Whether the value is an IP address without a zone, as Go reads it."""
    try:
        return isinstance(value, str) and "%" not in value and bool(ip_address(value))
    except ValueError:
        return False
