"""The certificate bundle in a Secret, shared by all replicas, and the caBundle fields of the webhooks."""

import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from certs.pki import BadCertificate, KeyPair, split
from certs.rotate import Bundle, Lifetimes, plan
from cluster.actions import Action, ApplySecret, SetCaBundle, SetConversionBundle, WebhookKind
from cluster.apply import perform
from cluster.client import Cluster
from cluster.errors import ClusterError, Conflict, NotFound
from cluster.resource import SECRETS

KEYS = ("ca.crt", "ca.key", "tls.crt", "tls.key")
LABELS = {"app.kubernetes.io/managed-by": "quotree"}
# With each lost race another replica made progress, so a handful of rounds is enough.
_ROUNDS = 10

log = logging.getLogger(__name__)


class BadSecret(ClusterError):
    """The Secret has foreign content, which is never overwritten."""


class Contended(ClusterError):
    """Other writers kept changing the Secret."""


@dataclass(frozen=True)
class Webhooks:
    """One of our webhook configurations; `names` None means all of its webhooks."""

    kind: WebhookKind
    name: str
    names: tuple[str, ...] | None = None

    def trusting(self, ca_bundle: bytes) -> Action:
        return SetCaBundle(self.kind, self.name, ca_bundle, self.names)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class ConversionWebhook:
    """One of our CustomResourceDefinitions, with a conversion webhook."""

    name: str

    def trusting(self, ca_bundle: bytes) -> Action:
        return SetConversionBundle(self.name, ca_bundle)

    def __str__(self) -> str:
        return f"CustomResourceDefinition {self.name}"


Caller = Webhooks | ConversionWebhook
"""An object that makes the API server call us, so it must trust our authority."""


@dataclass(frozen=True)
class SecretSettings:
    """Where the bundle is stored, which names its certificate has, and which callers must trust it."""

    namespace: str
    secret: str
    names: tuple[str, ...]
    callers: tuple[Caller, ...] = ()
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


@dataclass(frozen=True)
class Ensured:
    """The bundle in use, and the callers that do not exist yet, so that they do not trust it."""

    bundle: Bundle
    missing: tuple[Caller, ...]


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of a Service; the API server calls webhooks by the first."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}")


def ensure(cluster: Cluster, settings: SecretSettings, now: datetime) -> Ensured:
    """The bundle of all replicas: read, created or renewed, and trusted by every existing caller.

    Replicas that start together agree: the loser of a compare-and-swap takes what the winner wrote. Trust is written
    before the bundle is returned, so nobody serves a certificate that the API server does not trust. Call it again from
    time to time (see certs.renewal). Raises ClusterError: BadSecret, Forbidden, Unreachable, ...
    """
    for _ in range(_ROUNDS):
        stored, version = _fetch(cluster, settings)
        bundle = plan(stored, settings.names, now, settings.lifetimes)
        if bundle != stored and not _store(cluster, settings, bundle, version):
            continue
        missing = tuple(caller for caller in settings.callers if not _trust(cluster, caller, bundle))
        # Another replica may have renewed before we wrote the caBundle; then ours has overwritten theirs.
        if _fetch(cluster, settings)[0] == bundle:
            return Ensured(bundle, missing)
    raise Contended(
        f"Secret {settings.namespace}/{settings.secret} changed at every attempt; check whether another tool writes it"
    )


def to_data(bundle: Bundle) -> dict[str, bytes]:
    """The data of the Secret; the first certificate in `ca.crt` belongs to `ca.key`."""
    return {
        "ca.crt": bundle.ca_bundle,
        "ca.key": bundle.signer.key,
        "tls.crt": bundle.server.certificate,
        "tls.key": bundle.server.key,
    }


def from_data(data: Mapping[str, bytes]) -> Bundle | None:
    """The bundle in such data; None if all parts are missing.

    Raises BadCertificate if some are missing, unreadable, or do not match.
    """
    absent = [key for key in KEYS if not data.get(key)]
    if len(absent) == len(KEYS):
        return None
    if absent:
        raise BadCertificate(f"it lacks {' and '.join(absent)}")
    trusted = split(data["ca.crt"])
    bundle = Bundle(KeyPair(trusted[0], data["ca.key"]), trusted, KeyPair(data["tls.crt"], data["tls.key"]))
    bundle.check()
    return bundle


def _fetch(cluster: Cluster, settings: SecretSettings) -> tuple[Bundle | None, str | None]:
    """The stored bundle, and the Secret's resource version; None if there is no Secret."""
    try:
        secret = cluster.get(SECRETS.item(settings.secret, settings.namespace))
    except NotFound:
        return None, None
    try:
        return from_data(_decoded(secret)), str(secret["metadata"]["resourceVersion"])
    except (BadCertificate, binascii.Error) as error:
        cure = "name another Secret, or delete this one to have a new one created"
        raise BadSecret(
            f"Secret {settings.namespace}/{settings.secret} is not from quotree: {error}; {cure}"
        ) from error


def _decoded(secret: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(text, validate=True) for key, text in (secret.get("data") or {}).items()}


def _store(cluster: Cluster, settings: SecretSettings, bundle: Bundle, version: str | None) -> bool:
    """Store the bundle. False if another replica was faster."""
    try:
        perform(cluster, ApplySecret(settings.namespace, settings.secret, to_data(bundle), version, LABELS))
    except Conflict:
        return False
    log.info("Secret %s/%s: new certificates stored", settings.namespace, settings.secret)
    return True


def _trust(cluster: Cluster, caller: Caller, bundle: Bundle) -> bool:
    """Make the caller trust the bundle. False if it does not exist."""
    for _ in range(_ROUNDS):
        try:
            perform(cluster, caller.trusting(bundle.ca_bundle))
            return True
        except Conflict:
            continue  # changed since it was read, usually by another replica
        except NotFound:
            # Without Kueue's CRDs there is nothing to convert; without webhook configurations nothing is checked.
            level = logging.INFO if isinstance(caller, ConversionWebhook) else logging.WARNING
            log.log(level, "%s does not exist: the API server does not call quotree", caller)
            return False
    log.warning("%s changed at every attempt to set its caBundle", caller)
    return False
