"""Where pages come from: the reconciler's /v1, the audit's, and the API server, each asked as one person."""

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
    """How requests of one person are sent: with this `Authorization` header, in the name of that user.

    Without a header they are sent with the credentials that the process has.
    """

    authorization: str | None = field(default=None, repr=False)
    impersonated: Impersonated | None = None

    def digest(self) -> bytes:
        """Identifies the login without revealing the token."""
        named = self.impersonated
        parts = [self.authorization or "", *([named.user, *named.groups] if named else [])]
        return sha256("\n".join(parts).encode()).digest()


class UserReader(Protocol):
    """Reads as one person. Every method raises ClusterError: Forbidden, NotFound, Unreachable, ..."""

    def ask(self, path: str, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        """The answer of /v1."""

    def findings(self, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        """The findings of the audit, as its /v1/findings has them."""

    def stored(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        """An object of the API server."""

    def listed(
        self, resource: Resource, namespace: str | None, most: int, of: str = "", labels: str = ""
    ) -> list[Manifest]:
        """No more than `most` objects of the API server; `of` is a field selector, `labels` a label selector."""

    def user(self) -> str:
        """The name under which the API server knows this person. Raises Unauthorized."""

    def behind(self) -> float:
        """Seconds that the last answers are older than the moment at which they were given."""
