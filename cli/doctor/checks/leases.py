"""Checks which reconciler leads, and whether Kueue's manager still runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, option, skipped
from cluster.lease import LeaseClaim
from cluster.resource import LEASES
from policies.dialects.reading import Manifest, metadata
from policies.takeover.objects import LEASE, ObjectRef, set_aside

_CLOCK_SKEW = 5.0
"""The tolerated difference between the clocks of two machines, in seconds."""


@dataclass(frozen=True, slots=True)
class LeaseWork:
    """What the holder of a Lease does. `idle`: what stops if nobody holds it. `fix`: what to do then."""

    idle: str
    fix: str


_DECIDING = LeaseWork(
    "nothing is admitted",
    "see the logs of the reconciler; it must reach the API server, and Kueue's manager must not run",
)
_REPORTING = LeaseWork("no report is written", "see the logs of the audit; it must reach the API server")


@check("reconciler-lease", "One replica of the reconciler holds the Lease and renews it.")
def reconciler_lease(target: CheckedCluster) -> Iterator[CheckResult]:
    deployment = target.reconciler_deployment
    ref = lease_of_process(deployment, target.names.reconciler_lease)
    if deployment is None:
        yield skipped(str(ref), "the reconciler is not installed")
    elif set_aside(deployment):
        yield skipped(str(ref), "`quotree install take-over` has scaled the reconciler to 0")
    elif observes(target):
        yield skipped(str(ref), "the reconciler runs with --mode observe, and needs no Lease")
    else:
        yield check_lease(str(ref), target.get(LEASES.item(ref.name, ref.namespace)), target.now(), _DECIDING)


@check("audit-lease", "One replica of the audit holds its Lease and renews it.")
def audit_lease(target: CheckedCluster) -> Iterator[CheckResult]:
    deployment = target.deployment(target.names.audit)
    ref = lease_of_process(deployment, target.names.audit_lease)
    if deployment is None:
        yield skipped(str(ref), "the audit is not installed")
    else:
        yield check_lease(str(ref), target.get(LEASES.item(ref.name, ref.namespace)), target.now(), _REPORTING)


def check_lease(subject: str, lease: Manifest | None, now: datetime, work: LeaseWork = _DECIDING) -> CheckResult:
    if lease is None:
        return failure(subject, "does not exist: no replica has ever led", work.fix)
    claim, age = LeaseClaim.of(lease), age_of(lease, now)
    holder = claim.holder
    if not holder:
        return failure(subject, f"no replica holds it, so {work.idle}", work.fix)
    if age is None:
        return failure(subject, f"{holder} holds it and has never renewed it", work.fix)
    if not is_active(lease, now):
        message = f"{holder} holds it and renewed it {age:.0f} s ago; it lasts {claim.duration:g} s"
        return failure(subject, message, work.fix)
    return ok(subject, f"{holder} holds it, renewed {max(age, 0):.0f} s ago")


@check("kueue-manager", "Kueue's manager and the reconciler do not run beside each other.")
def kueue_manager(target: CheckedCluster) -> Iterator[CheckResult]:
    found = list(target.cluster.list(LEASES, field_selector=f"metadata.name={LEASE}"))
    deployment = target.reconciler_deployment
    decides = deployment is not None and not set_aside(deployment) and not observes(target)
    yield check_manager(found, decides, target.now())


def check_manager(leases: Sequence[Manifest], decides: bool, now: datetime) -> CheckResult:
    """Check that no manager of Kueue renews its Lease. `decides`: there is a reconciler that would write."""
    lease = next((each for each in leases if is_active(each, now)), None)
    if lease is None:
        neither = "Kueue's manager does not run, and no reconciler would write"
        return ok("", "Kueue's manager does not run") if decides else skipped("", neither)
    subject, runs = f"Lease {metadata(lease).get('namespace')}/{LEASE}", f"Kueue's manager runs ({holder_of(lease)})"
    if not decides:
        return ok(subject, f"{runs}, and no reconciler would write")
    fix = "take over with `quotree install take-over`, or remove the reconciler"
    return failure(subject, f"{runs}, so the reconciler writes nothing", fix)


def lease_of_process(deployment: Manifest | None, usual: ObjectRef) -> ObjectRef:
    """The Lease that a Deployment's process takes: the value of --lease, otherwise `usual`."""
    namespace, _, name = (option(deployment, "--lease") or "").partition("/")
    return ObjectRef("Lease", name, namespace) if namespace and name else usual


def observes(target: CheckedCluster) -> bool:
    return option(target.reconciler_deployment, "--mode") == "observe"


def holder_of(lease: Manifest) -> str:
    return LeaseClaim.of(lease).holder


def age_of(lease: Manifest, now: datetime) -> float | None:
    """The seconds since the Lease was renewed; None if it was never renewed."""
    renewed = LeaseClaim.of(lease).renewed
    return (now - datetime.fromisoformat(renewed)).total_seconds() if renewed else None


def is_active(lease: Manifest, now: datetime) -> bool:
    """Whether a process holds the Lease and renews it."""
    claim, age = LeaseClaim.of(lease), age_of(lease, now)
    return bool(claim.holder) and age is not None and age <= claim.duration + _CLOCK_SKEW
