"""The installed versions and replicas of Quotree and Kueue, and the expiry of certificates and authorities.

Secrets are not read. Certificates are those that the servers present.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from certs.pki import BadCertificate, CertificateFacts, inspect, split
from certs.presented import reached
from cluster.errors import Forbidden, NotFound
from cluster.resource import DEPLOYMENTS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from dashboard.pages.formatting import clock
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from dashboard.reading.served import NamedServer, Presented, ServedCertificates
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
"""An authority that expires sooner than this counts as late, since it should have been renewed long before."""


@dataclass(frozen=True, slots=True)
class Component:
    """A Deployment.

    `version`: empty if neither its image nor its label has one. `ready`, `wanted`: the numbers of replicas. `ours`:
    whether it is Quotree's, not Kueue's.
    """

    namespace: str
    name: str
    version: str
    ready: int
    wanted: int
    ours: bool


class CertificateState(IntEnum):
    """The states of a certificate, worst first. LATE: it should have been renewed."""

    EXPIRED = 0
    LATE = 1
    UNKNOWN = 2
    VALID = 3


@dataclass(frozen=True, slots=True)
class CertificateLine:
    """A certificate or an authority.

    `until`: its expiry in RFC 3339; empty if `state` is UNKNOWN.
    `said`: why it is unknown; otherwise the consequence of its expiry.
    """

    subject: str
    until: str
    state: CertificateState
    said: str


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed Deployments and certificates. `certificates`: the worst state first, then the first to expire."""

    components: tuple[Component, ...] = ()
    certificates: tuple[CertificateLine, ...] = ()


@dataclass(frozen=True, slots=True)
class CertificateSources:
    """The sources of certificates.

    `known`: the certificates that servers have presented.
    `servers`: the servers that the dashboard calls.
    `own`: returns the dashboard's certificate; None for plain HTTP.
    """

    known: ServedCertificates
    servers: Callable[[], Sequence[NamedServer]] = tuple
    own: Callable[[], CertificateFacts] | None = None


def installed(reader: CachedReader, sources: CertificateSources, now: datetime | None = None) -> Installed:
    """The Deployments and certificates that this user may list. Raises ClusterError if they cannot be read."""
    deployments = _listed(reader, DEPLOYMENTS, _DEPLOYED)
    listed = {kind: _listed(reader, resource, _OURS) for kind, resource in _KINDS.items()}
    hooks = [(f"{kind} {each['metadata']['name']}", each) for kind, found in listed.items() for each in found or ()]
    moment = now or datetime.now(UTC)
    lines = [line for subject, each in hooks for line in _authority(subject, each, moment)]
    if deployments is not None or hooks:  # the user is an administrator; others do not need this
        lines += _served(sources, [each for _, each in hooks], moment)
    if deployments is not None and None in listed.values():
        lines.append(_unknown("Certificate of the webhook", "you may not list webhook configurations"))
    return Installed(
        tuple(sorted(map(_component, deployments or ()), key=lambda each: (not each.ours, each.namespace, each.name))),
        tuple(sorted(lines, key=lambda each: (each.state, each.until, each.subject))),
    )


def _served(sources: CertificateSources, hooks: Sequence[Manifest], now: datetime) -> Iterator[CertificateLine]:
    configurations = [
        mapping(mapping(each).get("clientConfig")) for hook in hooks for each in listing(hook.get("webhooks"))
    ]
    webhooks = [reached(each) for each in configurations]
    named = [*(NamedServer("the webhook", each) for each in dict.fromkeys(webhooks) if each), *sources.servers()]
    found = sources.known.of(each.server for each in named)
    for each in named:
        yield _line(f"Certificate of {each.subject} at {each.server}", found[each.server], now)
    if None in webhooks:
        yield _unknown("Certificate of the webhook", "only Pods reach its Service; quotree doctor may read its Secret")
    if sources.own is not None:
        yield _line("Certificate of this dashboard", sources.own(), now)


def _line(subject: str, found: Presented, now: datetime) -> CertificateLine:
    if isinstance(found, str):
        return _unknown(subject, found)
    state = _state(found.not_after, found.overdue, now)
    return CertificateLine(subject, clock(found.not_after), state, "nobody can connect")


def _unknown(subject: str, why: str) -> CertificateLine:
    return CertificateLine(subject, "", CertificateState.UNKNOWN, why)


def _state(until: datetime, overdue: datetime, now: datetime) -> CertificateState:
    if now >= until:
        return CertificateState.EXPIRED
    return CertificateState.LATE if now >= overdue else CertificateState.VALID


def _listed(reader: CachedReader, resource: Resource, labels: str) -> list[Manifest] | None:
    """The objects of a kind; empty if the kind is not served, None if the user may not list them."""
    try:
        return reader.kept(("installed", resource), lambda: reader.reader.listed(resource, None, _MOST, labels=labels))
    except NotFound:
        return []
    except Forbidden:
        return None


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


def _authority(subject: str, found: Manifest, now: datetime) -> Iterator[CertificateLine]:
    """The authority of the caBundle that ends first; empty if there is none.

    A caBundle ends with the last of its authorities: during a rotation it has two.
    """
    bundles = {
        text(mapping(mapping(each).get("clientConfig")).get("caBundle")) for each in listing(found.get("webhooks"))
    }
    ends = [max(expiries) for bundle in bundles if bundle and (expiries := _expiries(bundle))]
    if ends:
        until = min(ends)
        state = _state(until, until - SOON, now)
        yield CertificateLine(f"Authority in {subject}", clock(until), state, "the API server cannot call it")


def _expiries(bundle: str) -> list[datetime]:
    try:
        return [inspect(each).not_after for each in split(base64.b64decode(bundle))]
    except (BadCertificate, binascii.Error):
        return []
