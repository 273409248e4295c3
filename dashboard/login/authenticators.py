"""Authenticate requests: by a token, by the headers of a trusted proxy, or by a key."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Protocol

from flask import Request

from cluster.access import bearer
from cluster.api.callers import Impersonated
from dashboard.login.sessions import Sessions
from dashboard.reading.backend import UserLogin

_RESERVED = "system:"
"""Names of Kubernetes itself. A proxy's users and groups come from elsewhere and must never be one of these."""


class Authenticator(Protocol):
    """How it is found out who looks."""

    @property
    def asks(self) -> bool:
        """Whether a page asks callers without a login for a token."""

    def login(self, request: Request) -> UserLogin | None:
        """The login of the request; None if it has no valid one."""


@dataclass(frozen=True, slots=True)
class ByToken:
    """A token of the cluster: in the `Authorization` header, else in a sealed cookie."""

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
    """What a proxy says that has authenticated the person; only from these addresses.

    Requests go out with the dashboard's own credentials, in that person's name.
    """

    trusted: Sequence[IPv4Network | IPv6Network]
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    asks: bool = False

    @property
    def headers(self) -> frozenset[str]:
        """The names of its headers, in upper case."""
        return frozenset({self.user_header.upper(), self.groups_header.upper()})

    def login(self, request: Request) -> UserLogin | None:
        user = request.headers.get(self.user_header, "").strip()
        # WSGI joins headers of one name by commas, which is why the server refuses a second one. A comma is in no name.
        if not self._trusts(request.remote_addr) or not user or "," in user or user.startswith(_RESERVED):
            return None
        groups = [group.strip() for group in request.headers.get(self.groups_header, "").split(",")]
        kept = tuple(dict.fromkeys(group for group in groups if group and not group.startswith(_RESERVED)))
        return UserLogin(None, Impersonated(user, kept))

    def _trusts(self, address: str | None) -> bool:
        try:
            peer = ip_address(address or "")
        except ValueError:
            return False
        return any(peer in network for network in self.trusted)


@dataclass(frozen=True, slots=True)
class ByKey:
    """One person on this machine, who started the process: a key in a cookie, which the first address had."""

    key: str
    cookie: str
    asks: bool = False

    def login(self, request: Request) -> UserLogin | None:
        return UserLogin() if self.fits(request.cookies.get(self.cookie, "")) else None

    def fits(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self.key.encode())
