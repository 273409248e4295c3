"""When the credentials of a kubeconfig end, as far as they say so themselves."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple


class Expiry(NamedTuple):
    """`what` ends at `at`, in seconds since 1970."""

    at: int
    what: str


def expiry_of(user: Mapping[str, Any]) -> Expiry | None:
    """The first end among the token and the client certificate of a kubeconfig's user; None where none is told.

    A token that is no JWT, or says nothing of its end, may end all the same; so may whatever cannot be read.
    """
    return min(_ends(user), default=None)


def _ends(user: Mapping[str, Any]) -> Iterator[Expiry]:
    token, certificate = user.get("token"), user.get("client-certificate-data")
    if isinstance(token, str) and (at := _end_of_token(token)) is not None:
        yield Expiry(at, "token")
    if isinstance(certificate, str) and (until := _end_of_certificate(certificate)) is not None:
        yield Expiry(int(until.timestamp()), "client certificate")


def _end_of_token(token: str) -> int | None:
    """`exp` of a JWT (RFC 7519), unverified: whoever gave us the token did not mean to fool us."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return int(end) if isinstance(end, int | float) and not isinstance(end, bool) and 0 < end < 2**53 else None


def _end_of_certificate(data: str) -> datetime | None:
    from cryptography import x509  # here, since few kubeconfigs have one

    try:
        return x509.load_pem_x509_certificate(base64.b64decode(data)).not_valid_after_utc
    except (binascii.Error, ValueError):
        return None
