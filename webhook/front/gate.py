"""Decides which clients are served: with a client CA, only those with a certificate of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certs.tls import names_of


@dataclass(frozen=True, slots=True)
class ClientGate:
    """Lets everybody in unless `closed`. `names`: one of these must be in the certificate; empty means any.

    `open_paths` are served to all. The API server's calls for conversion are such: it has no setting for a certificate
    there, and they tell nothing of the cluster.
    """

    closed: bool = False
    names: frozenset[str] = frozenset()
    open_paths: frozenset[str] = frozenset()

    def refusal(self, certificate: Mapping[str, Any] | None) -> str:
        """Why the client is not served; empty where it is. TLS has verified the certificate."""
        if not self.closed:
            return ""
        if not certificate:
            return "send a client certificate of the authority in --client-ca"
        if self.names and not self.names & names_of(certificate):
            return "the client certificate has none of the names in --client-name"
        return ""
