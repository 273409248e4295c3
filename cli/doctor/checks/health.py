"""Check the replicas' own metrics: whether the caches are synced, and how old they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.request import urlopen

from cli.doctor.result import CheckResult, check, failure, ok, skipped, warning
from cli.doctor.target import CheckedCluster, option
from cluster.errors import BadAnswer, ClusterError
from cluster.resource import PODS
from policies.dialects.reading import Manifest, mapping, metadata
from policies.takeover.objects import ObjectRef

_OLD = 180.0
"""The oldest healthy cache, in seconds. A watch lasts less than this, and the next one starts with data."""
_PORT, _AUDIT_PORT = "8080", "8083"
"""The default ports of the metrics, without --metrics-port or --port."""
_INTERVAL = 600.0
"""The default of --interval: seconds between two audits."""
_LATE = 2.0
"""After how many intervals an audit is late. It is due after one, and may still be running."""
_TIMEOUT = 5.0
_VALUE = r"^{name} (\d+(?:\.\d+)?(?:e[+-]?\d+)?)$"
"""A series without labels, with its value if that is a number."""
_FORWARD = "kubectl -n {namespace} port-forward deployment/{name} 8080 &, and --metrics http://127.0.0.1:8080/metrics"
_LOOK = "kubectl -n {namespace} port-forward deployment/{name} {port}, and look at http://127.0.0.1:{port}/metrics"


@check("cache-age", "The caches of each replica of the webhook are synced and up to date.")
def cache_age(target: CheckedCluster) -> Iterator[CheckResult]:
    if target.metrics is not None:
        yield check_metrics(target.metrics, _fetched(target.metrics))
        return
    deployment, ref = target.webhook_deployment, target.names.webhook
    if deployment is None:
        yield skipped(str(ref), "the webhook is not installed")
        return
    fix = _FORWARD.format(namespace=ref.namespace, name=ref.name)
    yield from _of_pods(target, ref, deployment, _PORT, check_metrics, fix)


@check("audit-age", "Each replica of the audit has audited the cluster within its interval.")
def audit_age(target: CheckedCluster) -> Iterator[CheckResult]:
    ref = target.names.audit
    deployment = target.deployment(ref)
    if deployment is None:
        yield skipped(str(ref), "the audit is not installed")
        return
    port = option(deployment, "--port") or _AUDIT_PORT
    interval = float(option(deployment, "--interval") or _INTERVAL)
    fix = _LOOK.format(namespace=ref.namespace, name=ref.name, port=port)
    yield from _of_pods(target, ref, deployment, port, partial(check_audit, interval=interval), fix)


def _of_pods(
    target: CheckedCluster,
    ref: ObjectRef,
    deployment: Manifest,
    port: str,
    judged: Callable[[str, str], CheckResult],
    fix: str,
) -> Iterator[CheckResult]:
    pods = list(_running(target, deployment))
    if not pods:
        yield skipped(str(ref), "no replica runs", "see replicas")
    for pod in pods:
        name = str(metadata(pod).get("name"))
        subject = f"Pod {ref.namespace}/{name}"
        try:
            yield judged(subject, target.cluster.text(f"{PODS.collection(ref.namespace)}/{name}:{port}/proxy/metrics"))
        except ClusterError as error:
            yield skipped(subject, f"the API server shows none of its metrics: {error}", fix)


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
    except (OSError, ValueError) as error:
        raise BadAnswer(f"--metrics {url}: {error}") from error


def check_metrics(subject: str, text: str) -> CheckResult:
    from webhook.metrics import CACHE_AGE, CACHE_SYNCED  # here, since their package is in the extra `serve`

    age, synced = (_value(text, family.name) for family in (CACHE_AGE, CACHE_SYNCED))
    if synced is None:
        return skipped(subject, "these are not the metrics of the webhook")
    if not synced or age is None:
        fix = "see its logs, and rbac: it must list every kind that it reads"
        return failure(subject, "has not read everything yet, and answers no request", fix)
    if age > _OLD:
        fix = "see its logs, and whether it reaches the API server"
        return warning(
            subject, f"has had no answer from the API server for {age:.0f} s, and judges on what was stored then", fix
        )
    return ok(subject, f"has read everything; the API server answered {age:.0f} s ago")


def check_audit(subject: str, text: str, interval: float) -> CheckResult:
    """Check the age of the last audit. `interval`: the seconds between two audits while nothing changes."""
    from audit.metrics import AGE, CACHE_AGE, CACHE_SYNCED  # here, since their package is in the extra `serve`

    synced, heard, age = (_value(text, family.name) for family in (CACHE_SYNCED, CACHE_AGE, AGE))
    if synced is None:
        return skipped(subject, "these are not the metrics of the audit")
    if not synced or age is None:
        fix = "see its logs, and rbac: it must list every kind that it reads"
        return failure(subject, "has audited nothing yet, so it finds and reports nothing", fix)
    if age > interval * _LATE:
        message = f"has audited nothing for {age:.0f} s, and reports what was then; one is due every {interval:.0f} s"
        return warning(subject, message, "see its logs: an audit that fails by an internal error says why")
    if heard is None or heard > _OLD:
        since = "yet" if heard is None else f"for {heard:.0f} s"
        fix = "see its logs, and whether it reaches the API server"
        return warning(subject, f"has had no answer from the API server {since}, and audits what was stored then", fix)
    return ok(subject, f"audited everything {age:.0f} s ago")


def _value(text: str, name: str) -> float | None:
    found = re.search(_VALUE.format(name=re.escape(name)), text, re.MULTILINE)
    return float(found[1]) if found else None
