"""The condition Active of MultiKueueClusters, and of the AdmissionChecks that refer to them.

Reasons and messages are Kueue's. Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue.
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.expiry import Expiry
from policies.dialects.kueue_kinds import MULTIKUEUE_CONFIG
from reconciler.multikueue.objects import MultiKueueConfig
from reconciler.objects.activity import CHECK_ACTIVE, ActiveCondition, parameters_fault
from reconciler.objects.workers import WorkerConnection
from scheduling.objects import times
from scheduling.objects.queue_settings import CheckParameters
from scheduling.objects.times import SECOND
from scheduling.status.conditions import shortened


def cluster_condition(
    connection: WorkerConnection, expiry: Expiry | None = None, now: int = 0, *, counted: bool = False
) -> ActiveCondition | None:
    """The condition of a MultiKueueCluster; None while the state of the connection is unknown.

    If it is unknown, the caller keeps the stored condition, with the time at which the connection was lost.

    `counted`: whether the message shows the number of failed attempts and the time of the next one, as in Kueue v0.20.
    """
    if connection.state == "connecting":
        return None
    if not connection.connected:
        tried = _tried(connection) if counted and connection.attempts else ""
        return ActiveCondition(False, connection.reason, shortened(connection.message + tried))
    return ActiveCondition(True, connection.reason, connection.message + _ending(expiry, now))


def _tried(connection: WorkerConnection) -> str:
    again = times.rfc3339(connection.next_attempt)
    return f"; connection attempts: {connection.attempts}, next connection attempt: {again}"


def _ending(expiry: Expiry | None, now: int) -> str:
    """A warning in the message that the credentials will expire soon; empty if not."""
    if expiry is None or now < expiry.warn_at * SECOND:
        return ""
    return f"; the {expiry.what} ends at {times.rfc3339(expiry.at * SECOND)}: put a new one into the kubeconfig"


def check_condition(
    parameters: CheckParameters | None, configs: Mapping[str, MultiKueueConfig], active: Mapping[str, bool]
) -> ActiveCondition:
    """The condition of an AdmissionCheck. `active`: whether a MultiKueueCluster is active, by name."""
    fault = parameters_fault(parameters, MULTIKUEUE_CONFIG, configs)
    if fault is not None or parameters is None:
        return ActiveCondition(False, "BadConfig", f"Cannot load the AdmissionChecks parameters: {fault}")
    clusters = configs[parameters.name].clusters
    missing = [name for name in clusters if name not in active]
    inactive = [name for name in clusters if name in active and not active[name]]
    if not missing and not inactive:
        return CHECK_ACTIVE
    lists = (("Missing clusters", missing), ("Inactive clusters", inactive))
    message = ", ".join(f"{what}: [{' '.join(names)}]" for what, names in lists if names)
    some = len(missing) + len(inactive) < len(clusters)
    return ActiveCondition(some, "SomeActiveClusters" if some else "NoUsableClusters", message)
