"""Questions that the API server passes on as an aggregated API: the user is in headers, which it alone may set.

It shows a certificate of its own to prove that it is the API server. Which authority made that, which names it may
have, and how the headers are called is published in a ConfigMap of the cluster.
Source: Kubernetes, "Configure the Aggregation Layer".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import unquote

from cluster.reviews import Caller

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """`authority` is PEM. Without `names` every certificate of that authority is the API server's."""

    authority: str
    names: frozenset[str] = frozenset()
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    """How the names of headers begin that hold one extra attribute each."""

    @classmethod
    def of(cls, config_map: Mapping[str, Any]) -> FrontProxy | None:
        """Read the ConfigMap; None if the API server forwards no requests. Raises ValueError if it cannot be read."""
        data = config_map.get("data") or {}
        authority = data.get("requestheader-client-ca-file")
        users, groups, extras, names = (
            _strings(data.get(f"requestheader-{key}", "[]"))
            for key in ("username-headers", "group-headers", "extra-headers-prefix", "allowed-names")
        )
        return cls(authority, frozenset(names), users, groups, extras) if authority and users else None

    def caller(self, certificate: Mapping[str, Any] | None, headers: Message) -> Caller | None:
        """The caller whom the API server forwards; None for a connection that is not the API server's.

        `certificate` is that of the peer as `ssl.SSLSocket.getpeercert` gives it, checked against `authority`.
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
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{text!r} is not a list of strings")
    return tuple(found)


def _values(headers: Message, names: Iterable[str]) -> Iterator[str]:
    """The API server writes UTF-8, which Python's reader of headers takes for Latin-1."""
    for name in names:
        for value in headers.get_all(name, []):
            yield value.encode("latin-1", "surrogateescape").decode("utf-8", "replace")
