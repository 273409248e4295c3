"""What the reconciler takes from a file in the form of Kueue's Configuration.

A key that Kueue knows and that means nothing here is named in `idle`, so that Kueue's own file can be used as it is.
A key that would decide otherwise than is decided here is refused, and so is one that Kueue does not know.
Source: Kueue v0.19, apis/config v1beta2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from cluster.lease import LeaseTimes
from policies.configuration import GATES
from policies.dialects.job_shape import JobShape
from policies.dialects.reading import Manifest, mapping
from policies.errors import BadConfiguration
from policies.objects import GroupKind
from reconciler.jobs.kinds import chosen, read_integrations
from reconciler.process import Settings
from scheduling.objects.times import SECOND
from scheduling.simulation.settings import GROUP, KIND, read_settings
from scheduling.world.kueue_configuration import duration

_LEAF: Mapping[str, Any] = {}
"""A value, or a part whose reader looks at its keys."""
_USED: Mapping[str, Any] = {
    "apiVersion": _LEAF,
    "kind": _LEAF,
    "manageJobsWithoutQueueName": _LEAF,
    "featureGates": _LEAF,
    "resources": {"quotaCheckStrategy": _LEAF, "excludeResourcePrefixes": _LEAF, "transformations": _LEAF},
    "waitForPodsReady": {
        "enable": _LEAF,
        "timeout": _LEAF,
        "recoveryTimeout": _LEAF,
        "blockAdmission": _LEAF,
        "requeuingStrategy": {
            "timestamp": _LEAF,
            "backoffLimitCount": _LEAF,
            "backoffBaseSeconds": _LEAF,
            "backoffMaxSeconds": _LEAF,
        },
    },
    "integrations": {"frameworks": _LEAF, "externalFrameworks": _LEAF},
    "fairSharing": {"enable": _LEAF, "preemptionStrategies": _LEAF},
    "leaderElection": {"leaseDuration": _LEAF, "renewDeadline": _LEAF, "retryPeriod": _LEAF},
}
_IDLE: Mapping[str, tuple[str, ...]] = {
    "": (
        *("namespace", "webhook", "metrics", "health", "pprofBindAddress", "controller", "tls", "clientConnection"),
        *("internalCertManagement", "visibilityServer", "managedJobsNamespaceSelector"),
        *("gracefulShutDown", "cacheNamespace", "objectRetentionPolicies"),
    ),
    "integrations": ("labelKeysToCopy",),
    "leaderElection": ("leaderElect", "resourceLock", "resourceName", "resourceNamespace"),
}
_MISSING: Mapping[str, Callable[[object], bool]] = {
    "manageJobsWithoutQueueName": bool,
    "waitForPodsReady.blockAdmission": bool,
    "admissionFairSharing": lambda value: value is not None,
    "multiKueue": lambda value: value is not None,
    "resources.deviceClassMappings": bool,
}
"""What Kueue does and the reconciler does not yet, by when it asks for something."""


_NOTHING: Mapping[GroupKind, JobShape] = {}
DEFAULTS: Manifest = {"apiVersion": f"{GROUP}/v1beta2", "kind": KIND}


@dataclass(frozen=True, slots=True)
class Configured:
    """`idle` are the keys of the file without meaning here."""

    settings: Settings = field(default_factory=Settings)
    times: LeaseTimes = field(default_factory=LeaseTimes)
    idle: tuple[str, ...] = ()


def read_configured(configuration: Manifest, described: Mapping[GroupKind, JobShape] = _NOTHING) -> Configured:
    """`described` are the kinds of jobs of our own settings. Raises BadConfiguration with the path of the key."""
    _identified(configuration)
    idle = tuple(_idle(configuration, _USED, ""))
    decided = read_settings(configuration, GATES)
    kinds = chosen(read_integrations(configuration), described)
    settings = Settings(decided.options, decided.ordering, decided.counting, decided.waiting, kinds)
    return Configured(settings, _times(configuration), idle)


def _identified(configuration: Manifest) -> None:
    version, kind = configuration.get("apiVersion"), configuration.get("kind")
    if str(version).partition("/")[0] != GROUP:
        raise BadConfiguration(f"{version!r} is unknown; write {GROUP}/v1beta2", "apiVersion")
    if kind != KIND:
        raise BadConfiguration(f"{kind!r} is unknown; write {KIND}", "kind")


def _idle(section: Mapping[str, Any], known: Mapping[str, Any], under: str) -> Iterator[str]:
    """The keys without meaning here. Raises BadConfiguration for what must not be passed over."""
    for key, value in section.items():
        at = f"{under}.{key}" if under else str(key)
        if at in _MISSING and _MISSING[at](value):
            raise BadConfiguration("the reconciler does not do this yet; take it out, or leave it to Kueue", at)
        if known.get(key):
            if not isinstance(value, Mapping | None):
                raise BadConfiguration("expected a mapping", at)
            yield from _idle(mapping(value), known[key], at)
        elif key in _IDLE.get(under, ()):
            yield at
        elif key not in known and at not in _MISSING:
            raise BadConfiguration(f"unknown key{_near(str(key), under, known)}", at)


def _near(key: str, under: str, known: Mapping[str, Any]) -> str:
    missing = [at.rpartition(".")[2] for at in _MISSING if at.rpartition(".")[0] == under]
    names = list(dict.fromkeys((*known, *_IDLE.get(under, ()), *missing)))
    near = get_close_matches(key, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(names)}"


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
