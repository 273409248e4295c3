"""The settings of MultiKueue, from Kueue's Configuration and from Quotree's own settings."""

from __future__ import annotations

from dataclasses import replace

from policies.configuration.kueue.gates import ORCHESTRATION, KueueVersion
from policies.configuration.kueue.values import KueueConfiguration
from policies.configuration.multikueue import ConfigRules, MultiKueueOptions
from policies.dialects.kueue_jobs import IDENTIFIERS
from policies.dialects.selectors import LabelSelector, read_label_selector
from reconciler.multikueue.assembly import MultiKueueSettings
from reconciler.multikueue.kubeconfigs import AllowedSources
from reconciler.multikueue.sources import KubeconfigSources
from reconciler.multikueue.worker_session import Pulse
from scheduling.placement.settings import PlacementRules, PlacementSettings

KUBECONFIGS = "quotree-kubeconfigs"
"""The default namespace for kubeconfigs of worker clusters. It has only kubeconfigs, so that a program that may read
its Secrets can read nothing else."""


def multikueue_of(found: KueueConfiguration, own: MultiKueueOptions) -> MultiKueueSettings | None:
    """The settings of MultiKueue; None if Kueue's gate switches MultiKueue off.

    Kueue reads kubeconfigs in the namespace that its Configuration names. Quotree uses the same namespace, so that
    kubeconfigs for Kueue can be used.
    """
    gates, connection = found.gates, own.connection
    if not gates.enabled("MultiKueue"):
        return None
    allowed = AllowedSources(trust=connection.trust)
    if not gates.enabled("MultiKueueKubeConfigPathValidation"):
        allowed = AllowedSources(None, connection.trust)
    providers = found.multikueue.providers if gates.enabled("MultiKueueClusterProfile") else None
    return MultiKueueSettings(
        KubeconfigSources(own.kubeconfig_namespace or found.namespace or KUBECONFIGS, allowed, providers),
        _placing(found, own),
        _limited(
            Pulse(
                every=connection.probe_seconds,
                answer=connection.answer_seconds,
                silence=connection.answer_seconds * 1.5,
                longest_wait=connection.longest_wait_seconds,
            ),
            found,
            connection.requests_per_second,
        ),
        counted=gates.version >= KueueVersion.V0_20,
    )


def _limited(pulse: Pulse, found: KueueConfiguration, own: int | None) -> Pulse:
    """The pulse with a rate of writes: Quotree's own setting, otherwise that of Kueue's client if it is for workers."""
    if own is not None:
        return replace(pulse, rate=own)
    limits = found.client
    if limits.rate is None or not found.gates.enabled("MultiKueueReuseClientConnectionConfigForWorkers"):
        return pulse
    return replace(pulse, rate=max(0.0, limits.rate), burst=limits.burst or 0)


def _placing(found: KueueConfiguration, own: MultiKueueOptions) -> PlacementSettings:
    usual, kueue, gates = PlacementSettings(), found.multikueue, found.gates
    return PlacementSettings(
        origin=kueue.origin or usual.origin,
        worker_lost=usual.worker_lost if kueue.worker_lost_timeout is None else kueue.worker_lost_timeout,
        collect_every=usual.collect_every if kueue.gc_interval is None else kueue.gc_interval,
        dispatcher=kueue.dispatcher or usual.dispatcher,
        step=usual.step if kueue.step_size is None else kueue.step_size,
        elastic=gates.enabled("ElasticJobsViaWorkloadSlices"),
        gated=gates.enabled("MultiKueueOrchestratedPreemption"),
        orchestrated=gates.enabled(ORCHESTRATION),
        syncs_spec=gates.enabled("MultiKueueRemoteSpecSync"),
        annotated=gates.enabled(IDENTIFIERS),
        short=gates.enabled("ShortWorkloadNames"),
        without_managed_by=own.without_managed_by,
        rules={name: _rules(rules) for name, rules in own.configs.items()},
    )


def _rules(rules: ConfigRules) -> PlacementRules:
    selector = read_label_selector(rules.selector) or LabelSelector()
    return PlacementRules(rules.score, rules.weights, selector, rules.rounds)
