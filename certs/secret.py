"""The certificate bundle in a Secret, shared by all replicas, and the caBundle fields of the webhooks."""

import base64
import binascii
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any, NamedTuple

from certs.callers import Caller, Webhooks
from certs.pki import BadCertificate, KeyPair, split
from certs.rotate import Bundle, Lifetimes, plan
from cluster.actions import ApplySecret
from cluster.apply import perform
from cluster.client import ClusterClient
from cluster.errors import ClusterError, Conflict, NotFound
from cluster.resource import SECRETS

KEYS = ("ca.crt", "ca.key", "tls.crt", "tls.key")
LABELS = {"app.kubernetes.io/managed-by": "quotree"}
# The maximum number of attempts. In each lost race another replica has made progress, so a few rounds are enough.
_ROUNDS = 10
NEW_SINCE = "quotree.dev/authority-not-before"
"""An annotation of the Secret with a time. An authority that was created before that time is replaced."""
_SETTLE = 1.0
"""Seconds until every API server uses a caBundle that was written."""
_PUT_BACK = (0.25, 12)
"""The seconds between two reads of a deleted Secret, and their number: a replica that serves will restore it."""

log = logging.getLogger(__name__)


class BadSecret(ClusterError):
    """The Secret has foreign content, which is never overwritten."""


class Contended(ClusterError):
    """Other writers kept changing the Secret."""


@dataclass(frozen=True)
class SecretSettings:
    """The settings for a bundle in a Secret.

    `names`: the names in the serving certificate. `callers`: the objects that must trust it.
    """

    namespace: str
    secret: str
    names: tuple[str, ...]
    callers: tuple[Caller, ...] = ()
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


@dataclass(frozen=True)
class Ensured:
    """The bundle in use. `missing`: the callers that do not trust it, since they are absent or change all the time."""

    bundle: Bundle
    missing: tuple[Caller, ...]


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of a Service. The API server uses the first to call webhooks."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}")


def ensure(
    cluster: ClusterClient,
    settings: SecretSettings,
    now: datetime,
    served: Bundle | None = None,
    rest: Callable[[float], object] = time.sleep,
) -> Ensured:
    """Read, create or renew the bundle that all replicas share, and make every existing caller trust it.

    `served`: the bundle that this replica serves now. If the Secret was deleted, it is restored from this bundle. Its
    authority stays trusted, whatever the Secret has.

    Replicas that start together get the same bundle: the loser of a compare-and-swap uses the winner's. The caBundles
    are written before the bundle is returned, and every API server has had time to use them, so that no replica serves
    a certificate that an API server does not trust. Call this regularly (see certs.renewal). Raises ClusterError:
    BadSecret, Forbidden, Unreachable, ...
    """
    authority = served.signer.certificate if served else None
    for _ in range(_ROUNDS):
        stored = _fetch(cluster, settings) if served else _fetch_patiently(cluster, settings, rest)
        bundle = plan(
            stored.bundle or served,
            settings.names,
            now,
            settings.lifetimes,
            served=authority,
            made_since=stored.new_since,
        )
        if bundle != stored.bundle and not _store(cluster, settings, bundle, stored.version):
            continue
        trusts = [_trust(cluster, settings, caller, bundle) for caller in settings.callers]
        if _Trust.OUTDATED in trusts:
            continue
        if _Trust.NEW in trusts or (authority and authority != bundle.signer.certificate):
            rest(_SETTLE)
        # Another replica may have renewed meanwhile.
        if _fetch(cluster, settings).bundle == bundle:
            missing = (caller for caller, trust in zip(settings.callers, trusts, strict=True) if trust is _Trust.NONE)
            return Ensured(bundle, tuple(missing))
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


class _Stored(NamedTuple):
    """The content of the Secret. `version`: its resource version; None if it does not exist. `new_since`: NEW_SINCE."""

    bundle: Bundle | None = None
    version: str | None = None
    new_since: datetime | None = None


def _fetch_patiently(cluster: ClusterClient, settings: SecretSettings, rest: Callable[[float], object]) -> _Stored:
    """Read the Secret. If it does not exist but callers trust an authority, wait for it.

    A replica may serve with the old content of the Secret, and will restore it.
    """
    stored = _fetch(cluster, settings)
    seconds, looks = _PUT_BACK
    if stored.bundle is None and any(_published(cluster, caller) for caller in settings.callers):
        for _ in range(looks):
            rest(seconds)
            stored = _fetch(cluster, settings)
            if stored.bundle is not None:
                break
    return stored


def _fetch(cluster: ClusterClient, settings: SecretSettings) -> _Stored:
    try:
        secret = cluster.get(SECRETS.item(settings.secret, settings.namespace))
    except NotFound:
        return _Stored()
    try:
        bundle = from_data(_decoded(secret))
    except (BadCertificate, binascii.Error) as error:
        cure = "name another Secret, or delete this one to have a new one created"
        raise BadSecret(
            f"Secret {settings.namespace}/{settings.secret} is not from quotree: {error}; {cure}"
        ) from error
    return _Stored(bundle, str(secret["metadata"]["resourceVersion"]), _new_since(secret))


def _new_since(secret: Mapping[str, Any]) -> datetime | None:
    """The time in the annotation. An invalid one is logged and counts as None, so that a typo stops no renewal."""
    written = (secret["metadata"].get("annotations") or {}).get(NEW_SINCE)
    if not written:
        return None
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        log.warning("the annotation %s is %r; write a moment such as 2026-01-31T12:00:00Z", NEW_SINCE, written)
        return None
    return moment


def _decoded(secret: Mapping[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(text, validate=True) for key, text in (secret.get("data") or {}).items()}


def _store(cluster: ClusterClient, settings: SecretSettings, bundle: Bundle, version: str | None) -> bool:
    """Store the bundle. Returns False if another replica was faster."""
    try:
        perform(cluster, ApplySecret(settings.namespace, settings.secret, to_data(bundle), version, LABELS))
    except Conflict:
        return False
    log.info("Secret %s/%s: new certificates stored", settings.namespace, settings.secret)
    return True


class _Trust(Enum):
    NONE = auto()
    """The caller does not exist, or changed at every attempt."""
    OLD = auto()
    NEW = auto()
    """The caller was changed to trust the bundle."""
    OUTDATED = auto()
    """Another replica has renewed the bundle. The caller was not changed."""


def _published(cluster: ClusterClient, caller: Caller) -> frozenset[str]:
    """The caBundles of the caller; empty if it does not exist, is not Quotree's, or has none."""
    try:
        return caller.published(cluster.get(caller.path)) - {""}
    except NotFound:
        return frozenset()


def _trust(cluster: ClusterClient, settings: SecretSettings, caller: Caller, bundle: Bundle) -> _Trust:
    """Make the caller trust the bundle.

    The caller is read before the Secret, and only written if it has not changed since. A replica that stores a newer
    bundle writes the callers afterwards, so that an older caBundle never replaces a newer one.
    """
    wanted = base64.b64encode(bundle.ca_bundle).decode()
    for _ in range(_ROUNDS):
        try:
            present = cluster.get(caller.path)
            if caller.published(present) <= {wanted}:
                return _Trust.OLD
            if _fetch(cluster, settings).bundle != bundle:
                return _Trust.OUTDATED
            perform(cluster, caller.trusting(bundle.ca_bundle, present["metadata"]["resourceVersion"]))
            return _Trust.NEW
        except Conflict:
            continue  # changed since it was read, usually by another replica
        except NotFound:
            # A missing webhook configuration means that no change is checked. Missing CRDs are less important.
            level = logging.WARNING if isinstance(caller, Webhooks) else logging.INFO
            log.log(level, "%s does not exist: the API server does not call quotree", caller)
            return _Trust.NONE
    log.warning("%s changed at every attempt to set its caBundle", caller)
    return _Trust.NONE
