"""The condition Active of MultiKueueClusters, and of the AdmissionChecks that place workloads on them.

Reasons and messages are Kueue's. Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster.actions import Patch
from cluster.expiry import Expiry
from cluster.resource import Resource
from policies.dialects.kueue_kinds import GROUP, MULTIKUEUE_CONFIG
from policies.dialects.reading import listing, mapping
from reconciler.core.watched import VERSION
from reconciler.multikueue.objects import ACTIVE, MULTIKUEUE_CLUSTERS, MultiKueueConfig
from reconciler.objects.stored import Stored, with_condition
from reconciler.objects.workers import Connection
from scheduling.objects import times
from scheduling.objects.queue_settings import CheckParameters
from scheduling.objects.times import SECOND

MANAGER = "kueue.x-k8s.io/multikueue"
_CHECKS = Resource(GROUP, VERSION, "admissionchecks", namespaced=False)
_BAD = "bad parameters reference"


@dataclass(frozen=True, slots=True)
class Condition:
    holds: bool
    reason: str
    message: str


def cluster_condition(connection: Connection, expiry: Expiry | None = None, now: int = 0) -> Condition | None:
    """None while nothing is known: then what is stored stays, and with it the clock of a loss."""
    if connection.state == "connecting":
        return None
    if not connection.connected:
        return Condition(False, connection.reason, connection.message)
    return Condition(True, connection.reason, connection.message + _ending(expiry, now))


def _ending(expiry: Expiry | None, now: int) -> str:
    """A note in time that the credentials will not hold for ever."""
    if expiry is None or now < expiry.warn_at * SECOND:
        return ""
    return f"; the {expiry.what} ends at {times.written(expiry.at * SECOND)}: put a new one into the kubeconfig"


def config_fault(parameters: CheckParameters | None, configs: Mapping[str, MultiKueueConfig]) -> str | None:
    """Why an AdmissionCheck leads to no MultiKueueConfig."""
    if parameters is None:
        return "missing parameters reference"
    if not parameters.name:
        return f"empty name: {_BAD}"
    if parameters.group != MULTIKUEUE_CONFIG.group:
        return f'wrong group "{parameters.group}", expecting "{MULTIKUEUE_CONFIG.group}": {_BAD}'
    if parameters.kind != MULTIKUEUE_CONFIG.kind:
        return f'wrong kind "{parameters.kind}", expecting "{MULTIKUEUE_CONFIG.kind}": {_BAD}'
    if parameters.name not in configs:
        return f'multikueueconfigs.kueue.x-k8s.io "{parameters.name}" not found'
    return None


def check_condition(
    parameters: CheckParameters | None, configs: Mapping[str, MultiKueueConfig], active: Mapping[str, bool]
) -> Condition:
    """`active`: every MultiKueueCluster that there is, and whether it can be used."""
    fault = config_fault(parameters, configs)
    if fault is not None or parameters is None:
        return Condition(False, "BadConfig", f"Cannot load the AdmissionChecks parameters: {fault}")
    clusters = configs[parameters.name].clusters
    missing = [name for name in clusters if name not in active]
    inactive = [name for name in clusters if name in active and not active[name]]
    if not missing and not inactive:
        return Condition(True, "Active", "The admission check is active")
    parts = (("Missing clusters", missing), ("Inactive clusters", inactive))
    message = ", ".join(f"{what}: [{' '.join(names)}]" for what, names in parts if names)
    some = len(missing) + len(inactive) < len(clusters)
    return Condition(some, "SomeActiveClusters" if some else "NoUsableClusters", message)


def same(stored: Stored, wanted: Condition) -> bool:
    """Whether the condition says so already."""
    found = _stored(stored)
    stored_as = tuple(found.get(key) for key in ("status", "reason", "message"))
    return stored_as == ("True" if wanted.holds else "False", wanted.reason, wanted.message)


def news(stored: Stored, wanted: Condition) -> bool:
    """Whether it is worth an Event: not where the message alone differs."""
    found = _stored(stored)
    return (found.get("status"), found.get("reason")) != ("True" if wanted.holds else "False", wanted.reason)


def _stored(stored: Stored) -> Mapping[str, object]:
    conditions: Iterable[Mapping[str, object]] = map(mapping, listing(stored.status.get("conditions")))
    return next((each for each in conditions if each.get("type") == ACTIVE), {})


def cluster_patch(name: str, stored: Stored, wanted: Condition, now: int) -> Patch:
    return _patch(MULTIKUEUE_CLUSTERS, name, stored, wanted, now)


def check_patch(name: str, stored: Stored, wanted: Condition, now: int) -> Patch:
    return _patch(_CHECKS, name, stored, wanted, now)


def _patch(resource: Resource, name: str, stored: Stored, wanted: Condition, now: int) -> Patch:
    """The time of the last transition moves only with the status, which makes it the clock of a loss."""
    conditions = with_condition(stored, ACTIVE, wanted.holds, wanted.reason, wanted.message, now)
    body = {"status": {"conditions": conditions}}
    return Patch(resource, None, name, body, stored.version, MANAGER, "status")
