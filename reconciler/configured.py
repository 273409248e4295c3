"""What the reconciler takes from a file in the form of Kueue's Configuration; which keys those are: `reconciler.keys`.

Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cluster.lease import LeaseTimes
from policies.configuration.multikueue import MultiKueueOptions
from policies.configuration.settings import GATES
from policies.dialects.job_shape import JobShape
from policies.dialects.reading import Manifest, mapping
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind
from reconciler.jobs.kinds import chosen, read_integrations
from reconciler.keys import idle_keys
from reconciler.managed_jobs import read_managed_jobs
from reconciler.multikueue.configured import read_multikueue
from reconciler.process import Settings
from reconciler.retention import Retention
from scheduling.objects.times import SECOND
from scheduling.simulation.settings import GROUP, KIND, read_settings
from scheduling.world.kueue_configuration import duration, read_fading

_NOTHING: Mapping[GroupKind, JobShape] = {}
_OPTIONS = MultiKueueOptions()
DEFAULTS: Manifest = {"apiVersion": f"{GROUP}/v1beta2", "kind": KIND}


@dataclass(frozen=True, slots=True)
class Configured:
    """`idle` are the keys of the file without meaning here. `resources`: metrics show quota and usage by flavor;
    `local_queues`: they show LocalQueues.
    """

    settings: Settings = field(default_factory=Settings)
    times: LeaseTimes = field(default_factory=LeaseTimes)
    resources: bool = True
    local_queues: bool = True
    idle: tuple[str, ...] = ()


def read_configured(
    configuration: Manifest,
    described: Mapping[GroupKind, JobShape] = _NOTHING,
    multikueue: MultiKueueOptions = _OPTIONS,
    namespace: str = "quotree-system",
) -> Configured:
    """`described` are the kinds of jobs of our own settings, `multikueue` what they say of that, `namespace` is where
    we are ourselves. Raises BadConfiguration with the path of the key.
    """
    _identified(configuration)
    idle = tuple(idle_keys(configuration))
    decided, integrations = read_settings(configuration, GATES), read_integrations(configuration)
    settings = Settings(
        decided.options,
        decided.ordering,
        decided.counting,
        decided.waiting,
        chosen(integrations, described),
        jobs=read_managed_jobs(configuration, namespace),
        fading=read_fading(configuration),
        retention=_retention(configuration),
        pods=integrations.pods,
        multikueue=read_multikueue(configuration, multikueue, namespace),
    )
    metrics = mapping(configuration.get("metrics"))
    resources = metrics.get("enableClusterQueueResources") is not False
    local_queues = mapping(metrics.get("localQueueMetrics")).get("enable") is not False
    return Configured(settings, _times(configuration), resources, local_queues, idle)


def _retention(configuration: Manifest) -> Retention:
    at = "objectRetentionPolicies.workloads"
    section = mapping(mapping(configuration.get("objectRetentionPolicies")).get("workloads"))

    def time(key: str) -> int | None:
        value = section.get(key)
        return None if value is None else duration(value, f"{at}.{key}")

    return Retention(time("afterFinished"), time("afterDeactivatedByKueue"))


def _identified(configuration: Manifest) -> None:
    version, kind = configuration.get("apiVersion"), configuration.get("kind")
    if str(version).partition("/")[0] != GROUP:
        raise BadConfiguration(f"{version!r} is unknown; write {GROUP}/v1beta2", "apiVersion")
    if kind != KIND:
        raise BadConfiguration(f"{kind!r} is unknown; write {KIND}", "kind")


def _times(configuration: Manifest) -> LeaseTimes:
    section, at = mapping(configuration.get("leaderElection")), "leaderElection"

    def seconds(key: str, default: float) -> float:
        value = section.get(key)
        return default if value is None else duration(value, f"{at}.{key}") / SECOND

    usual = LeaseTimes()
    try:
        return LeaseTimes(
            seconds("leaseDuration", usual.duration),
            seconds("renewDeadline", usual.renew_deadline),
            seconds("retryPeriod", usual.retry),
        )
    except ValueError as error:
        raise BadConfiguration(str(error), at) from error
