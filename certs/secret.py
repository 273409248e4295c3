"""The bundle in a Secret, shared by all replicas, and the caBundle of whatever makes the API server call us."""

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
# Each lost race means that another replica got further, so a handful of rounds is plenty.
_ROUNDS = 10

log = logging.getLogger(__name__)


class BadSecret(ClusterError):
    """A Secret that holds something else than our bundle; it is never overwritten."""


class Contended(ClusterError):
    """Other writers kept changing the Secret."""


@dataclass(frozen=True)
class Webhooks:
    """One webhook configuration that calls us; `names` None means all of its webhooks."""

    kind: WebhookKind
    name: str
    names: tuple[str, ...] | None = None

    def trusting(self, ca_bundle: bytes) -> Action:
        return SetCaBundle(self.kind, self.name, ca_bundle, self.names)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Conversion:
    """One CustomResourceDefinition, of our installation, whose objects we convert."""

    name: str

    def trusting(self, ca_bundle: bytes) -> Action:
        return SetConversionBundle(self.name, ca_bundle)

    def __str__(self) -> str:
        return f"CustomResourceDefinition {self.name}"


Caller = Webhooks | Conversion
"""What makes the API server call us, and so must trust our authority."""


@dataclass(frozen=True)
class SecretSettings:
    """Where the bundle is kept, for which names it is made, and who must trust it."""

    namespace: str
    secret: str
    names: tuple[str, ...]
    callers: tuple[Caller, ...] = ()
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


@dataclass(frozen=True)
class Ensured:
    """The bundle in use, and the callers that do not exist (yet) and so do not trust it."""

    bundle: Bundle
    missing: tuple[Caller, ...]


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of a Service; the API server calls webhooks by the first."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}")


def ensure(cluster: Cluster, settings: SecretSettings, now: datetime) -> Ensured:
    """The bundle that all replicas use: read, made or renewed, and trusted by every caller there is.

    Replicas that start together agree: who loses the compare-and-swap takes what the winner wrote. Trust is
    written before the bundle is returned, so nobody serves a certificate that the API server does not know.
    Call it again now and then (see certs.renewal). Raises ClusterError: BadSecret, Forbidden, Unreachable, ...
    """
    for _ in range(_ROUNDS):
        stored, version = _fetch(cluster, settings)
        bundle = plan(stored, settings.names, now, settings.lifetimes)
        if bundle != stored and not _store(cluster, settings, bundle, version):
            continue
        missing = tuple(caller for caller in settings.callers if not _trust(cluster, caller, bundle))
        # Somebody may have renewed between our reading and our writing of the caBundle, which would undo theirs.
        if _fetch(cluster, settings)[0] == bundle:
            return Ensured(bundle, missing)
    raise Contended(
        f"Secret {settings.namespace}/{settings.secret} changes with every attempt; does another tool own it?"
    )


def to_data(bundle: Bundle) -> dict[str, bytes]:
    """The data of the Secret; `ca.crt` begins with the certificate of `ca.key`."""
    return {
        "ca.crt": bundle.ca_bundle,
        "ca.key": bundle.signer.key,
        "tls.crt": bundle.server.certificate,
        "tls.key": bundle.server.key,
    }


def from_data(data: Mapping[str, bytes]) -> Bundle | None:
    """The bundle in such data; None where there is none of it yet.

    Raises BadCertificate where a part is missing, cannot be read, or does not fit the others.
    """
    absent = [key for key in KEYS if not data.get(key)]
    if len(absent) == len(KEYS):
        return None
    if absent:
        raise BadCertificate(f"there is no {' and no '.join(absent)}")
    trusted = split(data["ca.crt"])
    bundle = Bundle(KeyPair(trusted[0], data["ca.key"]), trusted, KeyPair(data["tls.crt"], data["tls.key"]))
    bundle.check()
    return bundle


def _fetch(cluster: Cluster, settings: SecretSettings) -> tuple[Bundle | None, str | None]:
    """What is stored, and its resource version (None: no such Secret)."""
    try:
        secret = cluster.get(SECRETS.item(settings.secret, settings.namespace))
    except NotFound:
        return None, None
    try:
        return from_data(_decoded(secret)), str(secret["metadata"]["resourceVersion"])
    except (BadCertificate, binascii.Error) as error:
        cure = "name another Secret, or delete this one and a new one is made"
        raise BadSecret(f"Secret {settings.namespace}/{settings.secret} is not ours: {error}; {cure}") from error


def _decoded(secret: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(text, validate=True) for key, text in (secret.get("data") or {}).items()}


def _store(cluster: Cluster, settings: SecretSettings, bundle: Bundle, version: str | None) -> bool:
    """Whether we were first."""
    try:
        perform(cluster, ApplySecret(settings.namespace, settings.secret, to_data(bundle), version, LABELS))
    except Conflict:
        return False
    log.info("Secret %s/%s: new certificates stored", settings.namespace, settings.secret)
    return True


def _trust(cluster: Cluster, caller: Caller, bundle: Bundle) -> bool:
    """Whether the caller exists and now trusts the bundle."""
    for _ in range(_ROUNDS):
        try:
            perform(cluster, caller.trusting(bundle.ca_bundle))
            return True
        except Conflict:
            continue  # changed since it was read, by another replica as a rule
        except NotFound:
            # A cluster without Kueue has nothing to convert; without its configurations nothing is guarded at all.
            level = logging.INFO if isinstance(caller, Conversion) else logging.WARNING
            log.log(level, "%s does not exist: the API server does not call us", caller)
            return False
    log.warning("%s changes with every attempt to let it trust us", caller)
    return False
