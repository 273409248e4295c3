"""The addresses of servers, and the connection of one user to the API server, which other processes can also use."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path

from cli.exits import Misused
from cli.input.login import ClusterLogin
from cluster.addresses import split_url
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint, from_service_account
from cluster.errors import NotConfigured
from cluster.trust import trusting

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """A server. `ca`: the CA of its certificate; None means the authorities of the system."""

    url: str
    ca: Path | None = None

    def endpoint(self) -> Endpoint:
        """The endpoint of the server. While the file of the CA does not exist, no certificate is trusted.

        Raises Misused.
        """
        try:
            scheme = split_url(self.url).scheme
        except ValueError as error:
            raise Misused(f"{self.url}: {error}") from error
        if scheme == "http":
            return Endpoint(self.url.rstrip("/"))
        try:
            trust = trusting(self.ca)
        except FileNotFoundError:
            log.warning("%s is not there yet; %s is not trusted until it is", self.ca, self.url)
            trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        except (OSError, ssl.SSLError) as error:
            raise Misused(f"{self.ca}: has no PEM certificate: {error}") from error
        return Endpoint(self.url.rstrip("/"), trust)


@dataclass(frozen=True, slots=True)
class UserConnection:
    """A connection to the API server with the rights of one user.

    `address`: None means the API server of the pod.
    `authorization`: the Authorization header.
    `headers`: further headers, such as for impersonation.
    `login`: a login of a kubeconfig. If it is set, the other fields are ignored.
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
