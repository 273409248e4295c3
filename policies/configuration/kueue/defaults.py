"""Sets Kueue's defaults of a Configuration, if the validation depends on them.

Source: Kueue v0.19, apis/config/v1beta2, defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.configuration.kueue.durations import nanoseconds
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.dialects.selectors import NAME_OF_NAMESPACE

NAMESPACE = "kueue-system"
STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
TIMEOUT, OLD_TIMEOUT = "30m", "5m"
"""The default timeouts for pods to become ready: in v1beta2 and in v1beta1."""
SAMPLING = "5m"
KUEUES_FRAMEWORKS = ("batch/job",)
"""The kinds of jobs that Kueue queues if integrations.frameworks is empty. The reconciler then also queues Pods."""
INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"


def defaulted(configuration: Manifest) -> dict[str, Any]:
    """A copy of the configuration with defaults for absent keys. Present values are kept, even wrong ones."""
    namespace = text(configuration.get("namespace")) or NAMESPACE
    found: dict[str, Any] = {"namespace": namespace, **present(configuration)}
    found["integrations"] = {**mapping(found.get("integrations"))}
    if not found["integrations"].get("frameworks"):
        found["integrations"]["frameworks"] = list(KUEUES_FRAMEWORKS)
    found.setdefault("managedJobsNamespaceSelector", default_selector(namespace))
    if isinstance(found.get("fairSharing"), Mapping):
        found["fairSharing"] = _filled(found["fairSharing"], preemptionStrategies=list(STRATEGIES))
    if isinstance(found.get("waitForPodsReady", {}), Mapping):
        found["waitForPodsReady"] = _pods_ready(found)
    if isinstance(found.get("admissionFairSharing"), Mapping):
        sharing = _with_time(found["admissionFairSharing"], "usageSamplingInterval", SAMPLING)
        found["admissionFairSharing"] = _filled(sharing, usageHalfLifeTime="0s")
    if isinstance(found.get("resources"), Mapping):
        found["resources"] = _with_strategies(found["resources"])
    return found


def is_old(configuration: Manifest) -> bool:
    """Whether the configuration has the version v1beta1. Without a version it does not."""
    return (text(configuration.get("apiVersion")) or "").endswith("/v1beta1")


def _pods_ready(configuration: Manifest) -> dict[str, Any]:
    """The section waitForPodsReady with its defaults. In v1beta2 it is on. In v1beta1 it is off unless it is enabled;
    then it blocks admission, and the time for recovery has no limit."""
    section = mapping(configuration.get("waitForPodsReady"))
    if not is_old(configuration):
        return _with_time(section, "timeout", TIMEOUT)
    return _with_time(_filled(section, enable=False, blockAdmission=True, recoveryTimeout="0s"), "timeout", OLD_TIMEOUT)


def default_selector(namespace: str) -> dict[str, Any]:
    """The default selector of the namespaces whose jobs are managed: all but kube-system and Kueue's own."""
    term = {"key": NAME_OF_NAMESPACE, "operator": "NotIn", "values": ["kube-system", namespace]}
    return {"matchExpressions": [term]}


def present(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section without its null values, which mean the same as absent ones."""
    return {key: value for key, value in section.items() if value is not None}


def _filled(section: Mapping[str, Any], **values: object) -> dict[str, Any]:
    return {**values, **present(section)}


def _with_time(section: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
    """The section with a default for a time. A time of 0 counts as absent."""
    filled = _filled(section, **{key: value})
    return {**filled, key: value} if nanoseconds(filled[key]) == 0 else filled


def _with_strategies(resources: Mapping[str, Any]) -> dict[str, Any]:
    entries = listing(resources.get("transformations"))
    if not entries:
        return dict(resources)
    filled = [
        {**entry, "strategy": entry.get("strategy") or "Retain"} if isinstance(entry, Mapping) else entry
        for entry in entries
    ]
    return {**resources, "transformations": filled}
