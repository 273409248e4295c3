"""What runs here: versions and replicas of Quotree and Kueue, and how long the authorities of the webhooks are valid.

Secrets are not read, so the certificates that are served are not among it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from certs.pki import BadCertificate, inspect, split
from cluster.errors import Forbidden, NotFound
from cluster.resource import DEPLOYMENTS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from dashboard.pages.shown import clock
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from policies.dialects.reading import listing, mapping, text, texts
from policies.takeover.objects import pod_spec

_OURS = "app.kubernetes.io/part-of=quotree"
_DEPLOYED = "app.kubernetes.io/name in (quotree, kueue)"
_KINDS = {
    "ValidatingWebhookConfiguration": VALIDATING_WEBHOOKS,
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS,
}
_MOST = 50
SOON = timedelta(days=30)
"""An authority that is valid for less than this is late: it is renewed long before."""


@dataclass(frozen=True, slots=True)
class Component:
    """A Deployment. `version`: empty if neither its image nor its label has one. `ready` of `wanted` replicas."""

    namespace: str
    name: str
    version: str
    ready: int
    wanted: int
    ours: bool


@dataclass(frozen=True, slots=True)
class WebhookAuthority:
    """The authority in the caBundle of a webhook configuration. `until`: RFC 3339."""

    subject: str
    until: str
    late: bool
    expired: bool


@dataclass(frozen=True, slots=True)
class Installed:
    """Both empty where nothing is installed."""

    components: tuple[Component, ...] = ()
    authorities: tuple[WebhookAuthority, ...] = ()


def installed(reader: CachedReader, now: datetime | None = None) -> Installed:
    """What this person may list of it. Raises ClusterError where a server does not answer."""
    deployments = _listed(reader, DEPLOYMENTS, _DEPLOYED)
    hooks = [
        (f"{kind} {each['metadata']['name']}", each)
        for kind, resource in _KINDS.items()
        for each in _listed(reader, resource, _OURS)
    ]
    moment = now or datetime.now(UTC)
    return Installed(
        tuple(sorted(map(_component, deployments), key=lambda each: (not each.ours, each.namespace, each.name))),
        tuple(found for subject, each in hooks for found in _authority(subject, each, moment)),
    )


def _listed(reader: CachedReader, resource: Resource, labels: str) -> list[Manifest]:
    """Empty where this person may not list them, or nothing serves them."""
    try:
        return reader.kept(("installed", resource), lambda: reader.reader.listed(resource, None, _MOST, labels=labels))
    except (Forbidden, NotFound):
        return []


def _component(found: Manifest) -> Component:
    meta, status = mapping(found.get("metadata")), mapping(found.get("status"))
    wanted = mapping(found.get("spec")).get("replicas", 1)
    return Component(
        str(meta.get("namespace", "")),
        str(meta.get("name", "")),
        _version(found),
        _number(status.get("readyReplicas", 0)),
        _number(wanted),
        texts(meta.get("labels")).get("app.kubernetes.io/name") == "quotree",
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _version(found: Manifest) -> str:
    images = [text(mapping(each).get("image")) or "" for each in listing(pod_spec(found).get("containers"))]
    tags = (image.partition("@")[0].rpartition("/")[2].partition(":")[2] for image in images)
    label = texts(mapping(found.get("metadata")).get("labels")).get("app.kubernetes.io/version", "")
    known = (re.fullmatch(r"v?(\d+\.\d+[\w.+-]*)", each) for each in (*tags, label))
    return next((each[1] for each in known if each), "")


def _authority(subject: str, found: Manifest, now: datetime) -> Iterator[WebhookAuthority]:
    """Find the authority that lasts longest, since two overlap during a rotation; none where there is no caBundle."""
    bundles = {
        text(mapping(mapping(each).get("clientConfig")).get("caBundle")) for each in listing(found.get("webhooks"))
    }
    ends = [until for bundle in bundles if bundle for until in _ends(bundle)]
    if ends:
        until = max(ends)
        yield WebhookAuthority(subject, clock(until), until - now < SOON, until <= now)


def _ends(bundle: str) -> list[datetime]:
    try:
        return [inspect(each).not_after for each in split(base64.b64decode(bundle))]
    except (BadCertificate, binascii.Error):
        return []
