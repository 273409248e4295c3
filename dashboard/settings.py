"""The settings of the dashboard's server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dashboard.login.authenticators import Authenticator, ByProxy
from dashboard.login.sessions import Sessions


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    """The addresses, the certificate, and the sign-in. Without a certificate it is plain HTTP, on loopback only."""

    authenticator: Authenticator
    cookie: str
    host: str = "127.0.0.1"
    port: int = 8082
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """The port of the probes; None for no probes."""
    certificate: Path | None = None
    key: Path | None = None
    sessions: Sessions | None = None
    """The sessions of users who sign in with a token; None with a proxy or a key."""
    link_key: Callable[[], bytes] | None = None
    """Returns the key of links that contain a change; None for a random key, so that links end with the process."""
    threads: int = 64
    """The number of threads for requests. Most of them wait for a client or a server."""
    refresh_seconds: int = 5
    """Seconds between two updates of an open page; 0 turns updates off."""
    address_file: Path | None = None

    @property
    def single_headers(self) -> frozenset[str]:
        """The proxy's headers, in upper case. A request may not repeat them, since a client could add forged ones."""
        return self.authenticator.headers if isinstance(self.authenticator, ByProxy) else frozenset()

    @property
    def secure(self) -> bool:
        return self.certificate is not None
