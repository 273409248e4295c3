"""The settings of the reconciler, from Kueue's Configuration and Quotree's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.lease import LeaseTimes
from policies.configuration.kueue.gates import FeatureGates, idle_gates, refuse_unkept
from policies.configuration.kueue.keys import idle_keys
from policies.configuration.kueue.reading import GROUP, KIND, check_identity, read
from policies.configuration.kueue.values import CustomLabel, KueueConfiguration, LeaderElection
from policies.configuration.multikueue import MultiKueueOptions
from policies.configuration.settings import Configuration, Dialect, QuotaReclaim
from policies.dialects.frameworks import FRAMEWORKS
from policies.dialects.job_shape import JobShape
from policies.dialects.reading import Manifest
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind
from reconciler.jobs.kinds import chosen
from reconciler.managed_jobs import managed_jobs_of
from reconciler.multikueue.configured import multikueue_of
from reconciler.process import DecisionSettings
from reconciler.shards.claims import DEFAULT, valid
from scheduling.objects.times import SECOND
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
    own, queued = settings.configuration.kueue, {kind.shape.kind for kind in settings.kinds}
    suspended = (FRAMEWORKS[name] for name in own.frameworks or FRAMEWORKS) if own.manage_jobs else ()
    return tuple(each.name for each in suspended if isinstance(each, JobShape) and each.kind not in queued)


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
