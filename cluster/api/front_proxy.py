"""Requests that the API server forwards to an aggregated API. Their headers name the user.

Only the API server may set these headers, and it proves its identity with a client certificate. A ConfigMap of the
cluster has the certificate authority, the allowed names of the certificate, and the names of the headers.
Source: Kubernetes, "Configure the Aggregation Layer".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import unquote

from cluster.api.header_text import received
from cluster.reviews import Caller

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """How to recognize a request that the API server forwards.

    `authority`: the certificate authority, PEM.
    `names`: the allowed common names; if it is empty, every certificate of the authority is allowed.
    `users`, `groups`: the names of the headers for the user and the groups.
    `extras`: prefixes of header names. Each such header is one extra attribute of the user.
    """

    authority: str
    names: frozenset[str] = frozenset()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    @classmethod
    def of(cls, config_map: Mapping[str, Any]) -> FrontProxy | None:
        """Read the ConfigMap; None if the API server forwards no requests. Raises ValueError if it cannot be read."""
        data = config_map.get("data") or {}
        authority = data.get("requestheader-client-ca-file")
        users, groups, extras, names = (
            _strings(data.get(f"requestheader-{key}") or "null")
            for key in ("username-headers", "group-headers", "extra-headers-prefix", "allowed-names")
        )
        return cls(authority, frozenset(names), users, groups, extras) if authority and users else None

    def caller(self, certificate: Mapping[str, Any] | None, headers: Message) -> Caller | None:
        """The user in the headers; None if the connection is not from the API server.

        `certificate`: the peer's, as `ssl.SSLSocket.getpeercert` returns it. It was verified against `authority`.
        """
        if not certificate or (self.names and not self.names & _common_names(certificate)):
            return None
        named = next(_values(headers, self.users), "")
        if not named:
            return None
        return Caller(named, groups=tuple(_values(headers, self.groups)), extra=tuple(sorted(self._extra(headers))))

    def _extra(self, headers: Message) -> Iterator[tuple[str, tuple[str, ...]]]:
        for prefix in self.extras:
            for name in sorted({each.lower() for each in headers if each.lower().startswith(prefix.lower())}):
                yield unquote(name.removeprefix(prefix.lower())), tuple(_values(headers, [name]))


def _common_names(certificate: Mapping[str, Any]) -> set[str]:
    return {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}


def _strings(text: str) -> tuple[str, ...]:
    """The list of strings in JSON. Like Go, reads null as an empty list."""
    found = json.loads(text)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{text!r} is not a list of strings")
    return tuple(found)


def _values(headers: Message, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield from map(received, headers.get_all(name, []))
