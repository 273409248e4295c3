"""How servers are reached: their addresses, and one person's way to the API server, which another process can take."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from cli.exits import Misused
from cli.input.login import ClusterLogin
from cluster.addresses import is_loopback
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint, from_service_account
from cluster.errors import NotConfigured

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """A server and the CA of its certificate; None: the system's authorities."""

    url: str
    ca: Path | None = None

    def endpoint(self) -> Endpoint:
        """Where the file of the CA is not there yet, no certificate is trusted. Raises Misused."""
        parts = urlsplit(self.url)
        if parts.scheme == "http" and is_loopback(parts.hostname or ""):
            return Endpoint(self.url.rstrip("/"))
        if parts.scheme != "https" or not parts.hostname:
            raise Misused(f"{self.url}: write https://HOST:PORT; http is allowed on this machine only")
        try:
            trust = ssl.create_default_context(cafile=self.ca)
        except FileNotFoundError:
            log.warning("%s is not there yet; %s is not trusted until it is", self.ca, self.url)
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        except (OSError, ssl.SSLError) as error:
            raise Misused(f"{self.ca}: has no PEM certificate: {error}") from error
        return Endpoint(self.url.rstrip("/"), trust)


@dataclass(frozen=True, slots=True)
class UserConnection:
    """One person's way to the API server: with a header `Authorization`, and others that go along.

    `address` None: the API server of the pod. `login`, of a kubeconfig, takes the place of all this.
    """

    address: Address | None = None
    authorization: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = ()
    login: ClusterLogin | None = None

    def open(self) -> ClusterClient:
        """Open a client with the rights of the user. Raises ClusterError."""
        try:
            if self.login is not None:
                return self.login.connect()
            endpoint = self.address.endpoint() if self.address else from_service_account()
        except Misused as error:
            raise NotConfigured(error.message) from error
        return ClusterClient(
            replace(endpoint, authorization=lambda: self.authorization, headers=self.headers), attempts=2
        )
