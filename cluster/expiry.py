"""The expiry of credentials in a kubeconfig, if they name one."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_DAY, _HOUR = 24 * 3600, 3600


class Expiry(NamedTuple):
    """The expiry of one credential.

    `at`: when it expires. `since`: when it becomes valid; 0 if unknown. Both are in seconds since 1970.
    `what`: the kind of credential, for messages.
    """

    at: int
    what: str
    since: int = 0

    @property
    def warn_at(self) -> int:
        """When to warn: a day before the expiry, but not before four fifths of the lifetime have passed."""
        life = self.at - self.since if self.since else 5 * _HOUR
        return self.at - min(_DAY, life // 5)


def expiry_of(user: Mapping[str, Any]) -> Expiry | None:
    """The first expiry of a kubeconfig user's token and client certificate; None if it is unknown.

    Unreadable credentials, tokens that are not JWTs, and JWTs without an expiry claim have an unknown expiry.
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
    """The claims of a JWT (RFC 7519). The signature is not verified, since the claims are only used for a warning."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _moment(value: object) -> int:
    """The time in seconds since 1970; 0 if the value is not a time."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 2**53 else 0


def _end_of_certificate(data: str) -> Iterator[Expiry]:
    from cryptography import x509  # imported here, since few kubeconfigs have a certificate

    try:
        found = x509.load_pem_x509_certificate(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return
    until, since = (int(each.timestamp()) for each in (found.not_valid_after_utc, found.not_valid_before_utc))
    yield Expiry(until, "client certificate", since)
