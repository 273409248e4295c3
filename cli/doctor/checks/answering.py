"""Checks that the API server reaches the webhook, with a dry run that the webhook must refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, skipped, warning
from cluster.errors import ApiError, Forbidden
from cluster.resource import Resource
from cluster.served import FOLLOWED
from policies.dialects import kueue, volcano

_REFUSED = re.compile(r'admission webhook "([^"]*\.quotree\.dev)" denied the request')
_FAILED = re.compile(r'failed calling webhook "([^"]*\.quotree\.dev)"')
_FIXES = (
    ("x509", "see ca-bundle and certificate-expiry"),
    ("no endpoints available", "see replicas"),
    ("connection refused", "see replicas; the Service must lead to the port that the webhook listens on"),
    (
        "deadline exceeded",
        "let the API server reach the port of the webhook: firewall, network policy, private cluster",
    ),
    ("not ready", "see the webhook's logs: its cache has not read everything, or the ledger fails"),
)


@check("webhook-answers", "The API server reaches the webhook, trusts it, and gets an answer.")
def webhook_answers(target: CheckedCluster) -> Iterator[CheckResult]:
    if not target.has_webhook:
        yield skipped("", "the webhook is not installed")
        return
    resource, trial = _trial(target)
    if resource is None:
        yield skipped("", "neither Kueue nor Volcano is installed, so no dry run is possible")
        return
    try:
        target.cluster.create(resource.collection(), trial, dry_run=True)
    except ApiError as error:
        yield answer_result(error, trial["kind"])
    else:
        yield answer_result(None, trial["kind"])


def _trial(target: CheckedCluster) -> tuple[Resource | None, dict[str, Any]]:
    """The resource and a manifest of a Cohort or Queue that is its own parent, which the webhook must refuse.

    The field is `parentName`, or in a Queue and in the oldest version of a Cohort `parent`; the API server drops the
    other one.
    """
    name = f"quotree-doctor-{uuid4().hex[:8]}"
    for kind in (kueue.COHORT, volcano.QUEUE):
        if kind.group in target.groups:
            resource = target.cluster.newest(FOLLOWED[kind])
            head = {"apiVersion": f"{kind.group}/{resource.version}", "kind": kind.kind}
            return resource, {**head, "metadata": {"name": name}, "spec": {"parentName": name, "parent": name}}
    return None, {}


def answer_result(error: ApiError | None, kind: str) -> CheckResult:
    """Convert the API server's response to the dry run into a check result; `error` is None if the dry run passed."""
    trial = f"a {kind} that is its own parent"
    if error is None:
        message = f"{trial} passed a dry run: no webhook was called, or parent-cycle is off"
        return warning(
            "", message, "see webhook-configurations; `failurePolicy: Ignore` lets all pass while it is down"
        )
    if refused := _REFUSED.search(error.message):
        return ok(refused[1], f"refused {trial}, as it should")
    if failed := _FAILED.search(error.message):
        fix = next((fix for sign, fix in _FIXES if sign in error.message), "see the webhook's logs")
        return failure(failed[1], f"the API server cannot ask it: {error.message}", fix)
    if isinstance(error, Forbidden):
        return skipped("", f"a dry run needs permission to create the object: {error.message}")
    message = f"the dry run was refused, but not by Quotree: {error.message}"
    return warning("", message, "follow the message of that webhook or policy")
