"""Who leads: our reconciler, and Kueue's manager where it still runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from cli.doctor.result import Result, check, failure, ok, skipped
from cli.doctor.target import Target, arguments
from cluster.resource import LEASES
from policies.dialects.reading import Manifest, mapping, metadata, text
from policies.takeover.objects import LEASE

_DURATION = 15.0
"""Seconds that a Lease lasts which does not say so."""
_LENIENT = 5.0
"""Seconds of difference between two clocks that make no difference here."""


@check("reconciler-lease", "One replica of the reconciler holds the Lease and renews it.")
def reconciler_lease(target: Target) -> Iterator[Result]:
    ref = target.names.reconciler_lease
    if target.reconciler_deployment is None:
        yield skipped(str(ref), "the reconciler is not installed")
    elif observes(target):
        yield skipped(str(ref), "the reconciler runs with --mode observe, and needs no Lease")
    else:
        yield judged_lease(str(ref), target.get(LEASES.item(ref.name, ref.namespace)), target.now())


def judged_lease(subject: str, lease: Manifest | None, now: datetime) -> Result:
    fix = "see the logs of the reconciler; it must reach the API server, and Kueue's manager must not run"
    if lease is None:
        return failure(subject, "does not exist: no replica has ever led", fix)
    holder, age = holder_of(lease), age_of(lease, now)
    if not holder:
        return failure(subject, "nobody holds it, so nothing is admitted", fix)
    if age is None or age > _lasts(lease) + _LENIENT:
        since = f"{age:.0f} s ago" if age is not None else "never"
        return failure(subject, f"{holder} holds it and renewed it {since}; it lasts {_lasts(lease):g} s", fix)
    return ok(subject, f"{holder} holds it, renewed {max(age, 0):.0f} s ago")


@check("kueue-manager", "Kueue's manager and the reconciler do not run beside each other.")
def kueue_manager(target: Target) -> Iterator[Result]:
    found = list(target.cluster.list(LEASES, field_selector=f"metadata.name={LEASE}"))
    installed = target.reconciler_deployment is not None and not observes(target)
    yield judged_manager(found, installed, target.now())


def judged_manager(leases: Sequence[Manifest], installed: bool, now: datetime) -> Result:
    """`installed`: there is a reconciler that would write."""
    active = [each for each in leases if _is_active(each, now)]
    for lease in active:
        subject = f"Lease {metadata(lease).get('namespace')}/{LEASE}"
        if installed:
            message = f"Kueue's manager runs ({holder_of(lease)}), so the reconciler writes nothing"
            return failure(subject, message, "take over with `quotree install take-over`, or remove the reconciler")
        return ok(subject, f"Kueue's manager runs ({holder_of(lease)}), and no reconciler beside it")
    if installed:
        return ok("", "Kueue's manager does not run")
    return skipped("", "neither Kueue's manager nor the reconciler runs here")


def observes(target: Target) -> bool:
    return "--mode=observe" in arguments(target.reconciler_deployment)


def holder_of(lease: Manifest) -> str:
    return text(mapping(lease.get("spec")).get("holderIdentity")) or ""


def age_of(lease: Manifest, now: datetime) -> float | None:
    """Seconds since it was renewed."""
    renewed = text(mapping(lease.get("spec")).get("renewTime"))
    return (now - datetime.fromisoformat(renewed)).total_seconds() if renewed else None


def _lasts(lease: Manifest) -> float:
    return float(mapping(lease.get("spec")).get("leaseDurationSeconds") or _DURATION)


def _is_active(lease: Manifest, now: datetime) -> bool:
    age = age_of(lease, now)
    return bool(holder_of(lease)) and age is not None and age <= _lasts(lease) + _LENIENT
