"""Authenticates requests: by a token, by the headers of a trusted proxy, or by a key."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Protocol

from flask import Request

from cluster.access import bearer
from cluster.api.callers import Impersonated
from cluster.api.header_text import received
from dashboard.login.sessions import Sessions
from dashboard.reading.backend import UserLogin

_RESERVED = "system:"
"""The prefix of Kubernetes' own users and groups. A proxy's users and groups must not have it."""


class Authenticator(Protocol):
    @property
    def asks(self) -> bool:
        """Whether a page asks callers without a login for a token."""

    def login(self, request: Request) -> UserLogin | None:
        """The login of the request; None if it has no valid one."""


@dataclass(frozen=True, slots=True)
class ByToken:
    """Authenticates by a token of the cluster, in the `Authorization` header or in an encrypted cookie."""

    sessions: Sessions
    cookie: str
    asks: bool = True

    def login(self, request: Request) -> UserLogin | None:
        token = bearer(request.headers.get("Authorization"))
        if not token and (sealed := request.cookies.get(self.cookie)):
            token = self.sessions.open(sealed) or ""
        return UserLogin(f"Bearer {token}") if token else None


@dataclass(frozen=True, slots=True)
class ByProxy:
    """Authenticates by the headers of a proxy that has authenticated the user.

    `trusted`: the networks from which these headers are accepted.
    The dashboard then uses its own credentials and impersonates the user.
    """

    trusted: Sequence[IPv4Network | IPv6Network]
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    asks: bool = False

    @property
    def headers(self) -> frozenset[str]:
        """The names of the proxy's headers, in upper case."""
        return frozenset({self.user_header.upper(), self.groups_header.upper()})

    def login(self, request: Request) -> UserLogin | None:
        user = received(request.headers.get(self.user_header, "")).strip()
        # WSGI would join repeated headers by commas, so the server refuses them. Names of users have no commas.
        if not self._trusts(request.remote_addr) or not user or "," in user or user.startswith(_RESERVED):
            return None
        groups = [group.strip() for group in received(request.headers.get(self.groups_header, "")).split(",")]
        kept = tuple(dict.fromkeys(group for group in groups if group and not group.startswith(_RESERVED)))
        return UserLogin(None, Impersonated(user, kept))

    def _trusts(self, address: str | None) -> bool:
        try:
            peer = ip_address(address or "")
        except ValueError:
            return False
        # A server that listens on IPv6 and IPv4 at once sees IPv4 addresses in this form.
        peer = getattr(peer, "ipv4_mapped", None) or peer
        return any(peer in network for network in self.trusted)


@dataclass(frozen=True, slots=True)
class ByKey:
    """Authenticates the user who started the process, by a key. The printed address has the key, then a cookie."""

    key: str
    cookie: str
    asks: bool = False

    def login(self, request: Request) -> UserLogin | None:
        return UserLogin() if self.fits(request.cookies.get(self.cookie, "")) else None

    def fits(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self.key.encode())
