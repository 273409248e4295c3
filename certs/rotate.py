"""Decides when to renew certificates. All replicas decide the same for the same bundle and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from certs.pki import BACKDATE, KeyPair, canonical, check_pair, inspect, new_authority, new_server, signed_by

# The maximum number of trusted authorities. Two are usual. There are more only if clocks differ by months, so that
# replicas renew against each other. Then the limit keeps the Secret small.
_MOST_TRUSTED = 4


@dataclass(frozen=True)
class Lifetimes:
    """How long new certificates are valid. The serving certificate is renewed after half of its lifetime.

    The authority is renewed `authority_margin` before it expires. That must be longer than the lifetime of a serving
    certificate, so that none outlives its authority. An older authority stays trusted for `overlap` after the next one
    was created, so that every replica has time to get a new certificate.
    """

    authority: timedelta = timedelta(days=365)
    authority_margin: timedelta = timedelta(days=60)
    server: timedelta = timedelta(days=30)
    overlap: timedelta = timedelta(minutes=15)


@dataclass(frozen=True)
class Bundle:
    """The certificates that are stored together.

    `signer`: the signing authority.
    `trusted`: the certificate of `signer`, and then older authorities that are still valid, so that certificates
    signed by them stay trusted until every replica has a new one.
    `server`: the serving certificate.
    """

    signer: KeyPair
    trusted: tuple[bytes, ...]
    server: KeyPair

    @property
    def ca_bundle(self) -> bytes:
        """All trusted authorities as PEM, for clients."""
        return b"".join(self.trusted)

    def check(self) -> None:
        """Check that each key matches its certificate. Raises BadCertificate."""
        check_pair(self.signer)
        check_pair(self.server)


def plan(
    bundle: Bundle | None,
    names: Sequence[str],
    now: datetime,
    lifetimes: Lifetimes | None = None,
    *,
    served: bytes | None = None,
    made_since: datetime | None = None,
) -> Bundle:
    """The bundle to use at `now`; `bundle` itself if nothing has to be renewed.

    A serving certificate is also renewed if it lacks one of `names` or was signed by another authority. Additional
    names are accepted, so that replicas of two versions do not renew against each other.

    `served`: the authority of the certificate that this replica serves now. It stays trusted.
    `made_since`: an authority that was created before this time is renewed.
    """
    lifetimes = lifetimes or Lifetimes()
    due = bundle is None or _authority_due(bundle, now, lifetimes) or _made_before(bundle, made_since, now)
    signer = _new_signer(now, lifetimes) if bundle is None or due else bundle.signer
    trusted = _trusted(signer, bundle.trusted if bundle else (), served, now, lifetimes)
    if bundle and signer is bundle.signer and not _server_due(bundle, names, now):
        return bundle if trusted == bundle.trusted else Bundle(signer, trusted, bundle.server)
    return Bundle(signer, trusted, new_server(signer, names, now, lifetimes.server))


def _trusted(
    signer: KeyPair, old: Sequence[bytes], served: bytes | None, now: datetime, lifetimes: Lifetimes
) -> tuple[bytes, ...]:
    overlap = now < _made(signer) + lifetimes.overlap
    candidates = [signer.certificate, *([served] if served else ()), *(old if overlap else ())]
    valid = (pem for pem in candidates if pem == signer.certificate or now < inspect(pem).not_after)
    return tuple(dict.fromkeys(valid))[:_MOST_TRUSTED]


def renew_at(bundle: Bundle) -> datetime:
    """When `plan` will renew the serving certificate: after half of its lifetime."""
    facts = inspect(bundle.server.certificate)
    return facts.not_before + (facts.not_after - facts.not_before) / 2


def _authority_due(bundle: Bundle, now: datetime, lifetimes: Lifetimes) -> bool:
    facts = inspect(bundle.signer.certificate)
    return not facts.is_ca or now < facts.not_before or now >= facts.not_after - lifetimes.authority_margin


def _server_due(bundle: Bundle, names: Sequence[str], now: datetime) -> bool:
    facts = inspect(bundle.server.certificate)
    complete = facts.names.issuperset(map(canonical, names)) and signed_by(
        bundle.server.certificate, bundle.signer.certificate
    )
    return not complete or now < facts.not_before or now >= renew_at(bundle)


def _made_before(bundle: Bundle, moment: datetime | None, now: datetime) -> bool:
    """Whether the authority was created before `moment`. A moment in the future has no effect yet."""
    return moment is not None and moment <= now and _made(bundle.signer) < moment


def _made(authority: KeyPair) -> datetime:
    return inspect(authority.certificate).not_before + BACKDATE


def _new_signer(now: datetime, lifetimes: Lifetimes) -> KeyPair:
    # The time in the subject distinguishes authorities, so that every client finds the right one.
    return new_authority(f"Quotree CA {now:%Y-%m-%d %H:%M:%S}", now, lifetimes.authority)
