"""Decides which clients are served. With a client CA, these are only clients with a certificate of this CA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certs.tls import names_of


@dataclass(frozen=True, slots=True)
class ClientGate:
    """Decides by the certificate of a client.

    `closed`: whether a client certificate is required.
    `names`: one of these must be in the certificate; empty means that any name is accepted.
    `open_paths`: are served to everyone. The path for conversion is one: the API server has no setting for a client
    certificate there, and the answers reveal nothing about the cluster.
    """

    closed: bool = False
    names: frozenset[str] = frozenset()
    open_paths: frozenset[str] = frozenset()

    def refusal(self, certificate: Mapping[str, Any] | None) -> str:
        """Why the client is not served; empty if it is. TLS has already verified the certificate."""
        if not self.closed:
            return ""
        if not certificate:
            return "send a client certificate of the authority in --client-ca"
        if self.names and not self.names & names_of(certificate):
            return "the client certificate has none of the names in --client-name"
        return ""
