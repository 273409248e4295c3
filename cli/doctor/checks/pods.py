"""Checks that no Pod runs without the quota of the LocalQueue that it names."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.target import CheckedCluster, CheckResult, check, ok, skipped, warning
from cluster.resource import NAMESPACES, PODS
from policies.dialects.core import read_namespace
from policies.dialects.kueue_jobs import MANAGED, QUEUE_NAME, managed_owner
from policies.dialects.reading import metadata
from policies.dialects.selectors import NAME_OF_NAMESPACE
from policies.model.printing import listed

_NAMED = 5
"""The most Pods that the message lists; the others are counted."""


@check("ungated-pods", "Pods that name a LocalQueue wait for its quota.")
def ungated_pods(target: CheckedCluster) -> Iterator[CheckResult]:
    webhook = target.configuration_of(target.webhook_deployment, "--config")
    if webhook is None:
        yield skipped("", "the configuration of the webhook cannot be read")
        return
    settings = webhook.kueue
    if not settings.manage_pods:
        yield skipped("", "the webhook does not manage Pods here")
        return
    namespaces = map(read_namespace, target.cluster.list(NAMESPACES))
    managed = {
        each.ref.name
        for each in namespaces
        if settings.namespaces.matches({**each.labels, NAME_OF_NAMESPACE: each.ref.name})
    }
    unmarked = target.cluster.list(
        PODS,
        label_selector=f"{QUEUE_NAME},!{MANAGED}",
        field_selector="status.phase!=Succeeded,status.phase!=Failed",
    )
    alone = (meta for meta in map(metadata, unmarked) if meta.get("namespace") in managed and not managed_owner(meta))
    found = sorted(f"{meta.get('namespace')}/{meta.get('name')}" for meta in alone)
    if found:
        message = f"created without the gate, so no quota counts them: {listed(found[:_NAMED], len(found))}"
        yield warning("", message, "delete them, or wait until they end; what creates them again gets the gate")
    else:
        yield ok("", "every Pod that names a LocalQueue has the gate, or had it")
