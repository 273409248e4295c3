"""What Kueue's Configuration says of MultiKueue, and what Quotree's own adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.configuration.kueue.defaults import INCREMENTAL
from policies.configuration.multikueue import ConfigRules, MultiKueueOptions
from policies.dialects.reading import Manifest, listing, mapping, text
from reconciler.multikueue.assembly import MultiKueueSettings
from reconciler.multikueue.kubeconfigs import Allowed
from reconciler.multikueue.line import Pulse
from reconciler.multikueue.sources import Kept
from scheduling.objects.selectors import LabelSelector, read_label_selector
from scheduling.placement.settings import ALL_AT_ONCE, PlacementRules, PlacementSettings
from scheduling.world.kueue_configuration import duration

GATES: Mapping[str, bool] = {
    "MultiKueue": True,
    "MultiKueueKubeConfigPathValidation": True,
    "MultiKueueClusterProfile": False,
    "MultiKueueOrchestratedPreemption": False,
    "MultiKueueIncrementalDispatcherConfig": True,
    "ElasticJobsViaWorkloadSlices": False,
}
"""Kueue's gates that count here, by their defaults in v0.19.2."""


def read_multikueue(configuration: Manifest, options: MultiKueueOptions, namespace: str) -> MultiKueueSettings | None:
    """None where Kueue's gate switches all of it off. Raises BadConfiguration."""
    gates = mapping(configuration.get("featureGates"))

    def enabled(gate: str) -> bool:
        return bool(gates.get(gate, GATES[gate]))

    if not enabled("MultiKueue"):
        return None
    section = mapping(configuration.get("multiKueue"))
    connection = options.connection
    allowed = Allowed(insecure=connection.insecure)
    if not enabled("MultiKueueKubeConfigPathValidation"):
        allowed = Allowed(None, connection.insecure)
    providers = dict(_providers(section)) if enabled("MultiKueueClusterProfile") else None
    return MultiKueueSettings(
        Kept(namespace, allowed, providers),
        _placing(
            section, options, enabled("ElasticJobsViaWorkloadSlices"), enabled("MultiKueueOrchestratedPreemption")
        ),
        Pulse(
            every=connection.probe_seconds,
            answer=connection.answer_seconds,
            silence=connection.answer_seconds * 1.5,
            longest_wait=connection.longest_wait_seconds,
            rate=connection.requests_per_second,
        ),
    )


def _placing(section: Mapping[str, Any], options: MultiKueueOptions, elastic: bool, gated: bool) -> PlacementSettings:
    usual = PlacementSettings()
    step = mapping(section.get("incrementalDispatcherConfig")).get("stepSize")
    return PlacementSettings(
        origin=text(section.get("origin")) or usual.origin,
        worker_lost=_time(section, "workerLostTimeout", usual.worker_lost),
        collect_every=_time(section, "gcInterval", usual.collect_every),
        dispatcher=text(section.get("dispatcherName")) or ALL_AT_ONCE,
        step=step if isinstance(step, int) and section.get("dispatcherName") == INCREMENTAL else usual.step,
        elastic=elastic,
        gated=gated,
        without_managed_by=options.without_managed_by,
        rules={name: _rules(rules) for name, rules in options.configs.items()},
    )


def _time(section: Mapping[str, Any], key: str, default: int) -> int:
    value = section.get(key)
    return default if value is None else duration(value, f"multiKueue.{key}")


def _rules(rules: ConfigRules) -> PlacementRules:
    selector = read_label_selector(rules.selector) or LabelSelector()
    return PlacementRules(rules.score, rules.weights, selector, rules.rounds)


def _providers(section: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    profile = mapping(section.get("clusterProfile"))
    for each in map(mapping, listing(profile.get("accessProviders")) or listing(profile.get("credentialsProviders"))):
        yield text(each.get("name")) or "", mapping(each.get("execConfig"))
