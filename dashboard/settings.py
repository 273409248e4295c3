"""How the dashboard is served."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dashboard.login.authenticators import Authenticator, ByProxy
from dashboard.login.sessions import Sessions


@dataclass(frozen=True, slots=True)
class DashboardSettings:
    """Addresses, the certificate, and how users sign in. Without a certificate: plain HTTP, on loopback only."""

    authenticator: Authenticator
    cookie: str
    """The name of the session cookie."""
    host: str = "127.0.0.1"
    port: int = 8082
    health_host: str = "127.0.0.1"
    health_port: int | None = None
    """The port of the probes; None: there are none."""
    certificate: Path | None = None
    key: Path | None = None
    sessions: Sessions | None = None
    """The sessions of users who sign in with a token; None with a proxy or a key."""
    link_key: Callable[[], bytes] | None = None
    """Reads the key of links that carry a change; None: one that ends with the process."""
    threads: int = 64
    """Threads for requests. Most of them wait, for the rest of a request or for a server."""
    refresh_seconds: int = 5
    """Seconds between two updates of an open page; 0: none."""
    address_file: Path | None = None

    @property
    def single_headers(self) -> frozenset[str]:
        """Headers, in upper case, that a request may have only once: a client may forge those of its proxy."""
        return self.authenticator.headers if isinstance(self.authenticator, ByProxy) else frozenset()

    @property
    def secure(self) -> bool:
        return self.certificate is not None
