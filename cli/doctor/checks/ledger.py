"""Checks the ledger, in which the webhook records changes of trees before it allows them."""

from __future__ import annotations

from collections.abc import Iterator

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cluster.client import MERGE_PATCH
from cluster.errors import ApiError, Forbidden
from cluster.resource import CONFIG_MAPS
from policies.dialects.reading import Manifest
from webhook.ledger.entry import UnreadableEntry
from webhook.ledger.store import NAME, read_contents

_TOO_MANY_ENTRIES = 100
"""More entries than this get a warning. An entry lasts until its change is stored, usually less than a second."""
_TRIAL = {"data": {"doctor": "a dry run"}}


@check("ledger", "The ledger exists, can be read, and can be written.")
def ledger(target: CheckedCluster) -> Iterator[CheckResult]:
    namespace = target.names.namespace
    subject = f"ConfigMap {namespace}/{NAME}"
    if not target.has_webhook:
        yield skipped(subject, "the webhook is not installed")
    elif not target.configuration.ledger:
        yield skipped(subject, "`ledger: false` in the configuration: changes of trees are not ordered")
    else:
        found = target.get(CONFIG_MAPS.item(NAME, namespace))
        refusal = _refusal(target, CONFIG_MAPS.item(NAME, namespace)) if found is not None else None
        yield from check_ledger(subject, found, refusal)


def _refusal(target: CheckedCluster, path: str) -> ApiError | None:
    """The API server's refusal of a dry run that writes an entry; None if it would store the entry."""
    try:
        target.cluster.patch(path, _TRIAL, MERGE_PATCH, dry_run=True)
    except ApiError as error:
        return error
    return None


def check_ledger(subject: str, found: Manifest | None, refusal: ApiError | None) -> Iterator[CheckResult]:
    if found is None:
        yield failure(
            subject, "does not exist, so no tree can be changed", "kubectl apply -f manifests/base/ledger.yaml"
        )
        return
    try:
        entries = len(read_contents(dict(found)).entries)
    except UnreadableEntry as error:
        fix = "upgrade all replicas to one version; else take the key out of the ConfigMap"
        yield failure(subject, f"cannot be read, so no tree can be changed: {error}", fix)
        return
    if isinstance(refusal, Forbidden) and "is forbidden: User" in refusal.message:
        yield skipped(
            subject, f"holds {entries} changes; you may not try to write it", "see rbac for the webhook's right"
        )
    elif refusal is not None:
        fix = "remove what refuses it; where it is immutable, delete it and apply manifests/base/ledger.yaml"
        yield failure(subject, f"cannot be written, so no tree can be changed: {refusal.message}", fix)
    elif entries > _TOO_MANY_ENTRIES:
        fix = "see why requests fail after the webhook allowed them: other webhooks, quota, conflicts"
        yield warning(subject, f"{entries} changes were allowed and are not stored yet", fix)
    else:
        yield ok(subject, f"can be written; {entries} changes are under way")
