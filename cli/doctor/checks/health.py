"""What the replicas say of themselves: whether they are ready, and how old their caches are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.request import urlopen

from cli.doctor.result import Result, check, failure, ok, skipped, warning
from cli.doctor.target import Target
from cluster.errors import BadAnswer, ClusterError
from cluster.resource import PODS
from policies.dialects.reading import Manifest, mapping, metadata
from policies.takeover.objects import Ref

_OLD = 180.0
"""Seconds. A watch lasts less, and the next one begins with an answer."""
_TIMEOUT = 5.0
_VALUE = r"^{name} (\d+(?:\.\d+)?(?:e[+-]?\d+)?)$"
"""A series without labels; a value that is not a number is none."""
_FORWARD = "kubectl -n {namespace} port-forward deployment/{name} 8080 &, and --metrics http://127.0.0.1:8080/metrics"


@check("cache-age", "Each replica of the webhook has read everything, and hears of changes.")
def cache_age(target: Target) -> Iterator[Result]:
    if target.metrics is not None:
        yield judged_metrics(target.metrics, _fetched(target.metrics))
        return
    deployment, ref = target.webhook_deployment, target.names.webhook
    if deployment is None:
        yield skipped(str(ref), "the webhook is not installed")
        return
    pods = list(_running(target, deployment))
    if not pods:
        yield skipped(str(ref), "no replica runs", "see replicas")
    for pod in pods:
        yield _of_pod(target, ref, str(metadata(pod).get("name")))


def _of_pod(target: Target, ref: Ref, name: str) -> Result:
    path = f"{PODS.collection(ref.namespace)}/{name}:8080/proxy/metrics"
    subject = f"Pod {ref.namespace}/{name}"
    try:
        return judged_metrics(subject, target.cluster.text(path))
    except ClusterError as error:
        fix = _FORWARD.format(namespace=ref.namespace, name=ref.name)
        return skipped(subject, f"the API server shows none of its metrics: {error}", fix)


def _running(target: Target, deployment: Manifest) -> Iterator[Manifest]:
    labels = mapping(mapping(mapping(deployment.get("spec")).get("selector")).get("matchLabels"))
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    for pod in target.cluster.list(PODS, namespace=target.names.namespace, label_selector=selector):
        if mapping(pod.get("status")).get("phase") == "Running":
            yield pod


def _fetched(url: str) -> str:
    """Raises BadAnswer."""
    if not url.startswith(("http://", "https://")):
        raise BadAnswer(f"--metrics {url}: write http://HOST:PORT/metrics")
    try:
        with urlopen(url, timeout=_TIMEOUT) as answer:  # noqa: S310, checked above
            return str(answer.read().decode())
    except (OSError, ValueError) as error:
        raise BadAnswer(f"--metrics {url}: {error}") from error


def judged_metrics(subject: str, text: str) -> Result:
    from webhook.metrics import CACHE_AGE, CACHE_SYNCED  # here, since it takes long to load

    age, synced = (_value(text, family.name) for family in (CACHE_AGE, CACHE_SYNCED))
    if synced is None:
        return skipped(subject, "these are not the metrics of the webhook")
    if not synced or age is None:
        fix = "see its logs, and rbac: it must list every kind that it reads"
        return failure(subject, "has not read everything yet, and answers no request", fix)
    if age > _OLD:
        fix = "see its logs, and whether it reaches the API server"
        return warning(
            subject, f"has heard nothing of the API server for {age:.0f} s, and judges on what was then", fix
        )
    return ok(subject, f"has read everything, and heard of the API server {age:.0f} s ago")


def _value(text: str, name: str) -> float | None:
    found = re.search(_VALUE.format(name=re.escape(name)), text, re.MULTILINE)
    return float(found[1]) if found else None
