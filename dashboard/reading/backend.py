"""The interface to the sources of pages: /v1 of the reconciler and the audit, and the API server, as one user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol, TypeAlias

from cluster.api.callers import Impersonated
from cluster.resource import Resource

Manifest: TypeAlias = dict[str, Any]
NO_PARAMS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class UserLogin:
    """How requests of one user are authenticated.

    `authorization`: the Authorization header; None for the credentials of the process.
    `impersonated`: the user to impersonate.
    """

    authorization: str | None = field(default=None, repr=False)
    impersonated: Impersonated | None = None

    def digest(self) -> bytes:
        """Identifies the login without revealing the token."""
        named = self.impersonated
        parts = [self.authorization or "", *([named.user, *named.groups] if named else [])]
        return sha256("\n".join(parts).encode()).digest()


class UserReader(Protocol):
    """Reads with the rights of one user. Every method raises ClusterError: Forbidden, NotFound, Unreachable, ..."""

    def ask(self, path: str, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        """The response for a path of the reconciler's /v1."""

    def findings(self, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        """The response of the audit's /v1/findings."""

    def stored(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        """An object from the API server."""

    def listed(
        self, resource: Resource, namespace: str | None, most: int, of: str = "", labels: str = ""
    ) -> list[Manifest]:
        """At most `most` objects from the API server. `of`: a field selector. `labels`: a label selector."""

    def user(self) -> str:
        """The name of the user at the API server. Raises Unauthorized."""

    def behind(self) -> float:
        """The age of the data in the last response when it arrived, in seconds. A reader may answer from a cache."""
