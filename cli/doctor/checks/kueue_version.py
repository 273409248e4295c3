"""Checks that Quotree is configured for the version of Kueue that is installed."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.target import CheckedCluster, CheckResult, check, ok, skipped, warning
from policies.configuration.kueue.gates import KueueVersion
from policies.dialects.reading import Manifest
from policies.takeover.objects import manager_version


@check("kueue-version", "The configuration names the version of Kueue that is installed.")
def kueue_version(target: CheckedCluster) -> Iterator[CheckResult]:
    ref, configured = target.names.manager, target.configuration.kueue.version
    yield check_version(str(ref), target.deployment(ref), configured)


def check_version(subject: str, manager: Manifest | None, configured: KueueVersion) -> CheckResult:
    """Compare the versions. `manager`: the Deployment of Kueue's manager, also after a take-over; None if absent."""
    if manager is None:
        return skipped(subject, f"does not exist; feature gates are those of Kueue {configured}")
    installed = manager_version(manager)
    if not installed:
        return skipped(subject, f"its version is unknown; feature gates are those of Kueue {configured}")
    minor = ".".join(installed.split(".")[:2])
    if minor == configured:
        return ok(subject, f"is Kueue {installed}, as configured")
    message = f"is Kueue {installed}, and feature gates are those of {configured}"
    known = [str(version) for version in KueueVersion]
    if minor in known:
        return warning(subject, message, f'set kueueVersion: "{minor}" in the configuration of the webhook')
    return warning(subject, message, f"Quotree knows {' and '.join(known)}: check what changed in Kueue {minor}")
