"""The condition Active of a ClusterQueue: whether it can admit workloads, and why not.

Source: Kueue v0.19, pkg/cache/scheduler/clusterqueue.go; CohortCycleDetected as of kueue PR 13774.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from policies.dialects.kueue import AdmissionCheckUse
from policies.dialects.kueue_checks import MULTIKUEUE, PROVISIONING
from scheduling.objects.queue_settings import CheckSettings, ClusterQueueSettings
from scheduling.status.conditions import shortened

CYCLE = "CohortCycleDetected"
CANNOT_ADMIT = "Can't admit new workloads"
IS_STOPPED = "is stopped"


@dataclass(frozen=True, slots=True)
class Readiness:
    """The condition Active. If it is False, it has the reason of the first fault, and a message with all faults."""

    active: bool
    reason: str
    message: str


READY = Readiness(True, "Ready", "Can admit new workloads")
TERMINATING = Readiness(False, "Terminating", f"{CANNOT_ADMIT}; clusterQueue is terminating")
NOT_FOUND = Readiness(False, "NotFound", "ClusterQueue not found")


def readiness(
    queue: ClusterQueueSettings,
    flavors: Collection[str],
    checks: Mapping[str, CheckSettings],
    cycle: Sequence[object] = (),
    terminating: bool = False,
    topologies: Mapping[str, str] = MappingProxyType({}),
) -> Readiness:
    """Judge a ClusterQueue.

    flavors: the existing flavors. checks: the existing AdmissionChecks.
    cycle: the Cohorts of the cycle above the queue; empty if there is none.
    terminating: whether the queue is being deleted.
    topologies: missing Topologies, by the flavor that names them.
    """
    if terminating:
        return TERMINATING
    faults = [*_own(queue, flavors, checks), *_multikueue(queue, checks)]
    remote = any(checks[use.name].controller == MULTIKUEUE for use in queue.checks if use.name in checks)
    for flavor, topology in topologies.items():
        if not remote:
            faults.append(("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{flavor}"'))
    if cycle:
        way = " -> ".join(str(getattr(cohort, "name", cohort)) for cohort in (*cycle, cycle[0]))
        faults.append((CYCLE, f"its cohorts form a cycle: {way}"))
    if not faults:
        return READY
    messages = ", ".join(message for _, message in faults)
    return Readiness(False, faults[0][0], shortened(f"{CANNOT_ADMIT}: {messages}."))


def _own(
    queue: ClusterQueueSettings, flavors: Collection[str], checks: Mapping[str, CheckSettings]
) -> Iterator[tuple[str, str]]:
    if queue.stopped:
        yield "Stopped", IS_STOPPED
    if missing := [flavor for flavor in dict.fromkeys(queue.flavors) if flavor not in flavors]:
        yield "FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}"
    names = sorted({use.name for use in queue.checks})
    if missing := [name for name in names if name not in checks]:
        yield "AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {','.join(missing)}"
    if inactive := [name for name in names if name in checks and not checks[name].active]:
        yield "AdmissionCheckInactive", f"references inactive AdmissionCheck(s): {','.join(inactive)}"


def _multikueue(queue: ClusterQueueSettings, checks: Mapping[str, CheckSettings]) -> Iterator[tuple[str, str]]:
    """The faults of MultiKueue checks: only one may dispatch a workload, and workers provision by themselves."""
    uses = sorted((use for use in queue.checks if use.name in checks), key=lambda use: use.name)
    remote = [use for use in uses if checks[use.name].controller == MULTIKUEUE]
    provisioned = [use for use in uses if checks[use.name].controller == PROVISIONING]
    every = set(queue.flavors)
    if len(remote) > 1:
        yield (
            "MultipleMultiKueueAdmissionChecks",
            f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {_names(remote)}",
        )
    if per_flavor := [use for use in remote if use.on_flavors and set(use.on_flavors) != every]:
        yield (
            "MultiKueueAdmissionCheckAppliedPerFlavor",
            f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {_names(per_flavor)}",
        )
    if remote and provisioned:
        both = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together"
        yield "MultiKueueWithProvisioningRequest", f"{both}, found: {_names(remote)}, {_names(provisioned)}"


def _names(uses: Iterable[AdmissionCheckUse]) -> str:
    return ",".join(use.name for use in uses)
