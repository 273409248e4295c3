"""Checks the metrics of replicas: whether their caches are synced and fresh, and when the last audit ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPException
from urllib.request import urlopen

from cli.doctor.target import CheckedCluster, CheckResult, check, failure, ok, option, skipped, warning
from cluster.errors import BadAnswer, ClusterError
from cluster.resource import PODS
from policies.dialects.reading import Manifest, mapping, metadata
from policies.takeover.objects import ObjectRef

_MAX_CACHE_AGE = 180.0
"""The maximum age of a healthy cache, in seconds. A watch ends earlier, and each new watch starts with data."""
_PORT, _AUDIT_PORT = "8080", "8083"
"""The default ports of the webhook's and the audit's metrics."""
_INTERVAL = 600.0
"""The default of --interval: seconds between two audits."""
_LATE_INTERVALS = 2.0
"""The intervals after which an audit is late. After one interval the next audit may still be running."""
_TIMEOUT = 5.0
_VALUE = r"^{name} (\d+(?:\.\d+)?(?:e[+-]?\d+)?)$"
"""Matches a series without labels. The group is its value."""
_FORWARD = "kubectl -n {} port-forward deployment/{} {port} &, and {then} http://127.0.0.1:{port}/metrics"
"""How to read the metrics of a Deployment without the API server's proxy."""


@check("cache-age", "The caches of each replica of the webhook are synced and up to date.")
def cache_age(target: CheckedCluster) -> Iterator[CheckResult]:
    if target.metrics is not None:
        yield check_metrics(target.metrics, _fetched(target.metrics))
        return
    deployment, ref = target.webhook_deployment, target.names.webhook
    if deployment is None:
        yield skipped(str(ref), "the webhook is not installed")
        return
    port = option(deployment, "--metrics-port") or _PORT
    fix = _FORWARD.format(ref.namespace, ref.name, port=port, then="--metrics")
    yield from _of_pods(target, ref, deployment, port, check_metrics, fix)


@check("audit-age", "Each replica of the audit has completed an audit within two intervals.")
def audit_age(target: CheckedCluster) -> Iterator[CheckResult]:
    ref = target.names.audit
    deployment = target.deployment(ref)
    if deployment is None:
        yield skipped(str(ref), "the audit is not installed")
        return
    port = option(deployment, "--port") or _AUDIT_PORT
    interval = float(option(deployment, "--interval") or _INTERVAL)
    fix = _FORWARD.format(ref.namespace, ref.name, port=port, then="look at")
    yield from _of_pods(target, ref, deployment, port, partial(check_audit, interval=interval), fix)


def _of_pods(
    target: CheckedCluster,
    ref: ObjectRef,
    deployment: Manifest,
    port: str,
    check_page: Callable[[str, str], CheckResult],
    fix: str,
) -> Iterator[CheckResult]:
    pods = list(_running(target, deployment))
    if not pods:
        yield skipped(str(ref), "no replica runs", "see the check `replicas`")
    for pod in pods:
        name = str(metadata(pod).get("name"))
        subject = f"Pod {ref.namespace}/{name}"
        try:
            yield check_page(
                subject, target.cluster.text(f"{PODS.collection(ref.namespace)}/{name}:{port}/proxy/metrics")
            )
        except ClusterError as error:
            yield skipped(subject, f"its metrics cannot be read through the API server: {error}", fix)


def _running(target: CheckedCluster, deployment: Manifest) -> Iterator[Manifest]:
    labels = mapping(mapping(mapping(deployment.get("spec")).get("selector")).get("matchLabels"))
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    for pod in target.cluster.list(PODS, namespace=target.names.namespace, label_selector=selector):
        if mapping(pod.get("status")).get("phase") == "Running":
            yield pod


def _fetched(url: str) -> str:
    """Fetch a page of metrics over HTTP. Raises BadAnswer."""
    if not url.startswith(("http://", "https://")):
        raise BadAnswer(f"--metrics {url}: write http://HOST:PORT/metrics")
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310, checked above
            return str(answer.read().decode())
    except (OSError, ValueError, HTTPException) as error:
        raise BadAnswer(f"--metrics {url}: {error}") from error


def check_metrics(subject: str, text: str) -> CheckResult:
    from webhook.metrics import CACHE_AGE, CACHE_SYNCED  # here, since their package is in the extra `serve`

    age, synced = (_value(text, family.name) for family in (CACHE_AGE, CACHE_SYNCED))
    if synced is None:
        return skipped(subject, "these are not the metrics of the webhook")
    if not synced or age is None:
        fix = "see its logs, and the check `rbac`: the ServiceAccount must be allowed to list every kind"
        return failure(subject, "has not listed all kinds yet, and is not ready", fix)
    if age > _MAX_CACHE_AGE:
        fix = "see its logs, and check its connection to the API server"
        return warning(
            subject, f"has had no answer from the API server for {age:.0f} s, so it judges on a stale cache", fix
        )
    return ok(subject, f"has listed all kinds; the API server answered {age:.0f} s ago")


def check_audit(subject: str, text: str, interval: float) -> CheckResult:
    """Check the age of the last audit. `interval`: the seconds between two audits while nothing changes."""
    from audit.metrics import AGE, CACHE_AGE, CACHE_SYNCED  # here, since their package is in the extra `serve`

    synced, cache_age, age = (_value(text, family.name) for family in (CACHE_SYNCED, CACHE_AGE, AGE))
    if synced is None:
        return skipped(subject, "these are not the metrics of the audit")
    if not synced or age is None:
        fix = "see its logs, and the check `rbac`: the ServiceAccount must be allowed to list every kind"
        return failure(subject, "has not completed an audit yet, so it has no findings and no reports", fix)
    if age > interval * _LATE_INTERVALS:
        message = (
            f"completed its last audit {age:.0f} s ago, so its reports are stale; one is due every {interval:.0f} s"
        )
        return warning(subject, message, "see its logs, which have the traceback of each internal error")
    if cache_age is None or cache_age > _MAX_CACHE_AGE:
        since = "yet" if cache_age is None else f"for {cache_age:.0f} s"
        fix = "see its logs, and check its connection to the API server"
        return warning(subject, f"has had no answer from the API server {since}, so it audits a stale cache", fix)
    return ok(subject, f"audited everything {age:.0f} s ago")


def _value(text: str, name: str) -> float | None:
    found = re.search(_VALUE.format(name=re.escape(name)), text, re.MULTILINE)
    return float(found[1]) if found else None
