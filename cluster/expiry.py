"""When the credentials of a kubeconfig end, as far as they say so themselves."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DAY, _HOUR = 24 * 3600, 3600


class Expiry(NamedTuple):
    """`what` ends at `at` and holds since `since`, in seconds since 1970; 0 where that is not told."""

    at: int
    what: str
    since: int = 0

    @property
    def warn_at(self) -> int:
        """When somebody should hear of it: a day before, but not before four fifths of its time have passed."""
        life = self.at - self.since if self.since else 5 * _HOUR
        return self.at - min(_DAY, life // 5)


def expiry_of(user: Mapping[str, Any]) -> Expiry | None:
    """The first end among the token and the client certificate of a kubeconfig's user; None where none is told.

    A token that is no JWT, or says nothing of its end, may end all the same; so may whatever cannot be read.
    """
    return min(_ends(user), default=None)


def _ends(user: Mapping[str, Any]) -> Iterator[Expiry]:
    token, certificate = user.get("token"), user.get("client-certificate-data")
    if isinstance(token, str):
        claims = _claims(token)
        if at := _moment(claims.get("exp")):
            yield Expiry(at, "token", _moment(claims.get("iat")))
    if isinstance(certificate, str):
        yield from _end_of_certificate(certificate)


def _claims(token: str) -> Mapping[str, Any]:
    """What a JWT (RFC 7519) says, unverified: whoever gave us the token did not mean to fool us."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _moment(value: object) -> int:
    """0 for what is no moment."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53 else 0


def _end_of_certificate(data: str) -> Iterator[Expiry]:
    from cryptography import x509  # here, since few kubeconfigs have one

    try:
        found = x509.load_pem_x509_certificate(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return
    until, since = (int(each.timestamp()) for each in (found.not_valid_after_utc, found.not_valid_before_utc))
    yield Expiry(until, "client certificate", since)
