"""The settings of the reconciler, from Kueue's Configuration and Quotree's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.lease import LeaseTimes
from policies.configuration.kueue.gates import ORCHESTRATION, FeatureGates, KueueVersion, idle_gates, refuse_unkept
from policies.configuration.kueue.keys import idle_keys
from policies.configuration.kueue.reading import GROUP, KIND, check_identity, read
from policies.configuration.kueue.values import CustomLabel, KueueConfiguration, LeaderElection
from policies.configuration.multikueue import ConfigRules, MultiKueueOptions
from policies.configuration.settings import Configuration, Dialect, QuotaReclaim
from policies.dialects.frameworks import SHAPES
from policies.dialects.job_shape import JobShape
from policies.dialects.kueue_jobs import IDENTIFIERS
from policies.dialects.reading import Manifest
from policies.dialects.selectors import LabelSelector, read_label_selector
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind
from reconciler.jobs.kinds import chosen
from reconciler.managed_jobs import managed_jobs_of
from reconciler.multikueue.assembly import MultiKueueSettings
from reconciler.multikueue.kubeconfigs import AllowedSources
from reconciler.multikueue.sources import KubeconfigSources
from reconciler.multikueue.worker_session import Pulse
from reconciler.process import DecisionSettings
from reconciler.shards.claims import DEFAULT, valid
from scheduling.objects.times import SECOND
from scheduling.placement.settings import PlacementRules, PlacementSettings
from scheduling.world.kueue_configuration import (
    counting_of,
    decay_of,
    failure_gates_of,
    observability_of,
    options_of,
    ordering_of,
    topology_gates_of,
    waiting_of,
)

_NOTHING: Mapping[GroupKind, JobShape] = {}
_OPTIONS = MultiKueueOptions()
DEFAULTS: Manifest = {"apiVersion": f"{GROUP}/v1beta2", "kind": KIND}
KUBECONFIGS = "quotree-kubeconfigs"
"""The default namespace for kubeconfigs of worker clusters. It has only kubeconfigs, so that a program that may read
its Secrets can read nothing else."""


@dataclass(frozen=True, slots=True)
class ReconcilerConfiguration:
    """The settings of the reconciler.

    `settings`: how the process decides.
    `times`: the times of the Lease.
    `metrics_off`: the keys that switch metrics off.
    `idle`: the keys of the files that have no effect in Quotree.
    `never_started`: the kinds of jobs that the webhook suspends and the reconciler does not queue.
    `custom_labels`: the labels that are added to metrics.
    `local_queues`: a label selector for the LocalQueues that have metrics; None for all.
    """

    settings: DecisionSettings = field(default_factory=DecisionSettings)
    times: LeaseTimes = field(default_factory=LeaseTimes)
    metrics_off: frozenset[str] = frozenset()
    idle: tuple[str, ...] = ()
    never_started: tuple[str, ...] = ()
    custom_labels: tuple[CustomLabel, ...] = ()
    local_queues: Mapping[str, Any] | None = None


def read_configured(
    manifest: Manifest,
    described: Mapping[GroupKind, JobShape] = _NOTHING,
    multikueue: MultiKueueOptions = _OPTIONS,
    namespace: str = "quotree-system",
    gates: Mapping[str, bool] | None = None,
    own: Configuration | None = None,
    *,
    observes: bool = False,
) -> ReconcilerConfiguration:
    """Read the Configuration. Raises BadConfiguration with the path of the key.

    `described`: the kinds of jobs that Quotree's own settings describe.
    `namespace`: the namespace of this process.
    `gates`: the values of feature gates that the Configuration does not set.
    `observes`: whether this process writes nothing.
    """
    check_identity(manifest)
    own = own or Configuration()
    found = read(manifest, FeatureGates(gates or {}, own.kueue.version), namespace)
    refuse_unkept(found.gates)
    idle = (*idle_keys(manifest), *(f"featureGates.{gate}" for gate in idle_gates(found.gates)))
    settings = replace(
        _settings(found, described, multikueue), dialects=own.reconciler.dialects, configuration=own, observes=observes
    )
    gated = Dialect.YUNIKORN in own.gates
    if Dialect.YUNIKORN in own.reconciler.dialects and not gated and not observes:
        idle = (*idle, "reconciler.dialects: yunikorn")
    if own.yunikorn.preempts and not gated:
        idle = (*idle, "yunikorn.preemption")
    if own.volcano.reclaim is not QuotaReclaim.OFF and Dialect.VOLCANO not in own.gates:
        idle = (*idle, "volcano.reclaim")
    times = _times(found.leader_election)
    return ReconcilerConfiguration(
        settings, times, found.metrics_off, idle, _never_started(settings), found.custom_labels, found.local_queues
    )


def _never_started(settings: DecisionSettings) -> tuple[str, ...]:
    own, queued = settings.configuration, {kind.shape.kind for kind in settings.kinds}
    suspended = [shape for kind, shape in SHAPES.items() if own.kueue.manage_jobs and own.framework(kind)]
    return tuple(each.name for each in suspended if each.kind not in queued)


def of_part(configured: ReconcilerConfiguration, part: str) -> ReconcilerConfiguration:
    """The settings for a process of this part. Only the default part manages the queues of Volcano and YuniKorn.

    Raises BadConfiguration.
    """
    if not valid(part):
        raise BadConfiguration(
            f"{part!r} is not a valid name of a part: use up to 40 lowercase letters, digits and hyphens", "--part"
        )
    settings = configured.settings
    if part != DEFAULT:
        if Dialect.KUEUE not in settings.dialects:
            raise BadConfiguration("a part other than default manages only Kueue's trees, but kueue is off", "--part")
        settings = replace(settings, dialects=frozenset([Dialect.KUEUE]))
    return replace(configured, settings=replace(settings, part=part))


def _settings(
    found: KueueConfiguration, described: Mapping[GroupKind, JobShape], multikueue: MultiKueueOptions
) -> DecisionSettings:
    jobs = managed_jobs_of(found.jobs, found.gates, found.custom_labels)
    return DecisionSettings(
        options_of(found),
        ordering_of(found),
        counting_of(found),
        waiting_of(found),
        chosen(found.integrations, described, jobs.naming),
        jobs=jobs,
        usage_decay=decay_of(found),
        retention=found.retention,
        pods=found.integrations.pods,
        cleans_requests=found.gates.enabled("CleanupProvisioningRequestsOnEviction"),
        multikueue=multikueue_of(found, multikueue),
        observability=observability_of(found),
        topologies=topology_gates_of(found),
        failures=failure_gates_of(found),
    )


def _times(election: LeaderElection) -> LeaseTimes:
    usual = LeaseTimes()

    def seconds(value: int | None, default: float) -> float:
        return default if value is None else value / SECOND

    try:
        return LeaseTimes(
            seconds(election.lease_duration, usual.duration),
            seconds(election.renew_deadline, usual.renew_deadline),
            seconds(election.retry_period, usual.retry),
        )
    except ValueError as error:
        raise BadConfiguration(str(error), "leaderElection") from error


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
