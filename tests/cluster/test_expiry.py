"""Tokens and certificates that tell when they end."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from certs.pki import new_authority
from cluster.expiry import Expiry, expiry_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def token(claims: object) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.signature"


def test_a_token_tells_its_end() -> None:
    assert Expiry(1_800_000_000, "token") == expiry_of({"token": token({"exp": 1_800_000_000})})


def test_a_client_certificate_tells_its_end_and_the_first_end_counts() -> None:
    pem = new_authority("worker", NOW, timedelta(days=1)).certificate
    user = {"client-certificate-data": base64.b64encode(pem).decode()}
    end = int((NOW + timedelta(days=1)).timestamp())

    found = expiry_of(user)
    assert found is not None
    assert (end, "client certificate") == (found.at, found.what)
    assert found == expiry_of({**user, "token": token({"exp": end + 1})})
    assert Expiry(end - 1, "token") == expiry_of({**user, "token": token({"exp": end - 1})})


@pytest.mark.parametrize(
    "user",
    [
        {},
        {"token": "opaque"},
        {"token": "a.b.c"},
        {"token": "a.%%%.c"},
        {"token": 7},
        {"token": token([])},
        {"token": token({"exp": "soon"})},
        {"token": token({"exp": 1e300})},
        {"token": token({})},
        {"client-certificate-data": "%"},
        {"client-certificate-data": "aGVsbG8="},
    ],
)
def test_what_tells_nothing_has_no_known_end(user: dict[str, object]) -> None:
    assert expiry_of(user) is None


def test_a_token_of_an_hour_is_warned_of_late_and_one_of_a_year_a_day_before() -> None:
    hour, year = 3600, 365 * 24 * 3600
    assert Expiry(1_000_000, "token", 1_000_000 - hour).warn_at == 1_000_000 - hour // 5
    assert Expiry(year + 9, "token", 9).warn_at == year + 9 - 24 * hour
    assert Expiry(1_000_000, "token").warn_at == 1_000_000 - hour
