"""How the dashboard is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dashboard.login.authenticators import Authenticator, ByProxy
from dashboard.login.sessions import Sessions


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    """Addresses, the certificate, and how people sign in. Without a certificate: plain HTTP, on loopback alone."""

    authenticator: Authenticator
    cookie: str
    """Of those who sign in, or have a key."""
    host: str = "127.0.0.1"
    port: int = 8082
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """None: there are no probes."""
    certificate: Path | None = None
    key: Path | None = None
    sessions: Sessions | None = None
    """Of those who sign in with a token."""
    threads: int = 64
    """Most of them wait: for the rest of a request, or for a server."""
    refresh_seconds: int = 5
    """Between two looks of an open page."""
    address_file: Path | None = None
    drain_seconds: float = 0.0
    """After SIGTERM, until load balancers have noticed."""

    @property
    def single_headers(self) -> frozenset[str]:
        """Headers that a request has once, in upper case: a client may have sent another one before its proxy."""
        return self.authenticator.headers if isinstance(self.authenticator, ByProxy) else frozenset()

    @property
    def secure(self) -> bool:
        return self.certificate is not None
