"""Checks that a reconciler removes the gates of Pods that wait for quota of Volcano or YuniKorn."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.checks.leases import observes
from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cluster.resource import MUTATING_WEBHOOKS
from policies.configuration.settings import Configuration, Dialect
from policies.dialects.reading import Manifest, listing, mapping

_AT_GATES = (Dialect.VOLCANO, Dialect.YUNIKORN)


@check("quota-gates", "If Pods wait at a gate for quota of Volcano or YuniKorn, a reconciler removes the gate.")
def quota_gates(target: CheckedCluster) -> Iterator[CheckResult]:
    webhook = target.configuration_of(target.webhook_deployment, "--config")
    if webhook is None:
        yield skipped("", "the configuration of the webhook cannot be read")
        return
    gated = gated_dialects(target.get(MUTATING_WEBHOOKS.item(target.names.mutating.name)))
    found = [each for dialect in _AT_GATES if (each := _of_dialect(target, dialect, webhook, dialect in gated))]
    yield from found or [skipped("", "no Pod waits at a gate for the quota of Volcano or YuniKorn here")]


def gated_dialects(configuration: Manifest | None) -> set[Dialect]:
    """The dialects whose webhooks add gates to new Pods."""
    names = {mapping(each).get("name") for each in listing((configuration or {}).get("webhooks"))}
    return {dialect for dialect in _AT_GATES if f"{dialect}-quota-pods.quotree.dev" in names}


def _of_dialect(target: CheckedCluster, dialect: Dialect, webhook: Configuration, gated: bool) -> CheckResult | None:
    """Check the gates of one dialect; None if it uses no gates.

    `gated`: whether the API server calls the webhook for the dialect's Pods.
    """
    key, component = f"{dialect}.enforce", f"manifests/components/{dialect}-gates"
    enforced = dialect in webhook.gates
    if not gated and not enforced:
        return None
    if not gated:
        return warning(key, "is gates, but the API server does not call the webhook for Pods", f"add {component}")
    if not enforced:
        fix = f"switch it on in {target.names.settings}, or take {component} out"
        return warning(key, "is off, although the API server calls the webhook for Pods, so no Pod waits", fix)
    why, fix = _undecided(target, dialect)
    if why and fix:
        return failure(key, f"Pods wait at a gate that nothing removes: {why}", fix)
    return skipped(key, why) if why else ok(key, f"{target.names.reconciler} admits the Pods if there is room")


def _undecided(target: CheckedCluster, dialect: Dialect) -> tuple[str, str]:
    """Why no reconciler removes the gates, and the fix.

    Both are empty if a reconciler does. If the cause is unknown, only the fix is empty.
    """
    ref, deployment = target.names.reconciler, target.reconciler_deployment
    component = f"manifests/components/{dialect}-gates"
    if deployment is None:
        return f"{ref} is not installed", f"apply manifests/components/reconciler, and {component} behind it"
    if observes(target):
        return f"{ref} runs with --mode observe", f"start it with --mode manage, or take {component} out"
    if not mapping(deployment.get("status")).get("readyReplicas"):
        return f"no replica of {ref} is ready", f"kubectl -n {ref.namespace} logs deployment/{ref.name}"
    settings = target.configuration_of(deployment, "--settings")
    if settings is None:
        return f"what {ref} reads by --settings is not known", ""
    if dialect not in settings.gates:
        return f"{dialect}.enforce is off in {ref}", f"apply {component} again: both programs need --gates={dialect}"
    return "", ""
