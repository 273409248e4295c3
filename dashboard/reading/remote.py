"""Sends requests to servers, over connections that are kept for the most recent users."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from cluster.client import PAGE, ClusterClient
from cluster.endpoint import Endpoint
from cluster.errors import NotFound, Unreachable
from cluster.resource import Resource
from cluster.wire import Timeouts
from dashboard.reading.backend import NO_PARAMS, Manifest, UserLogin, UserReader
from dashboard.reading.served import NamedServer, named_servers
from dashboard.what_if.processes import Processes

_TIMEOUTS = Timeouts(connect=3.0, read=10.0)
_MOST = 64
"""The maximum number of users whose connections are kept."""
_CONNECTIONS = 4
_NO_AUDIT = (
    "Findings come from the audit, and this dashboard knows of none: start it with --audit URL, or install"
    " manifests/components/audit and manifests/components/dashboard-audit"
)
_PODS = "look at its Pods with `kubectl -n quotree-system get pods`"
FINDINGS = "/v1/findings"
_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@dataclass(frozen=True, slots=True)
class Servers:
    """The endpoints of servers, without credentials of a user. None: there is no such server."""

    api: Endpoint
    reconciler: Endpoint | None = None
    audit: Endpoint | None = None


class Getter(Protocol):
    """Answers GET requests with JSON: a client, or a replacement that reads the cluster itself. Raises ClusterError."""

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Manifest: ...


class ServerAway(Unreachable):
    """A server of Quotree does not answer. `subject`: its name, which tells users more than its address."""

    def __init__(self, subject: str, error: Unreachable) -> None:
        super().__init__(error.host, error.problem, _PODS, sent=error.sent, slow=error.slow)
        self.subject = subject

    def __str__(self) -> str:
        return f"{self.subject} at {self.host} does not answer: {self.problem}; {self.cure}"


class RemoteReader:
    """A UserReader that calls servers. `v1`, `audit`: None if there is no such server."""

    def __init__(
        self, api: ClusterClient, v1: Getter | None, audit: Getter | None, behind: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._api, self._v1, self._audit = api, v1, audit
        self.behind = behind

    def ask(self, path: str, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        if self._v1 is None:
            raise NotFound(404, "NotFound", "no reconciler is configured here; see --reconciler")
        return _asked(self._v1, "the reconciler", path, params)

    def findings(self, params: Mapping[str, str] = NO_PARAMS) -> Manifest:
        if self._audit is None:
            raise NotFound(404, "NotFound", _NO_AUDIT)
        return _asked(self._audit, "the audit", FINDINGS, params)

    def stored(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        return self._api.get(resource.item(name, namespace))

    def listed(
        self, resource: Resource, namespace: str | None, most: int, of: str = "", labels: str = ""
    ) -> list[Manifest]:
        found = self._api.list(
            resource, min(most, PAGE), namespace=namespace, field_selector=of or None, label_selector=labels or None
        )
        return [*islice(found, most)]

    def user(self) -> str:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        return str(self._api.create(_REVIEWS, body)["status"]["userInfo"]["username"])

    def close(self) -> None:
        for client in (self._api, self._v1, self._audit):
            if isinstance(client, ClusterClient):
                client.close()


def _asked(server: Getter, subject: str, path: str, params: Mapping[str, str]) -> Manifest:
    """The response of a server. Raises ServerAway if a server of Quotree does not answer.

    A Getter that is not a client reads the API server instead, so its errors are about the API server.
    """
    try:
        return server.get(path, params)
    except Unreachable as error:
        if isinstance(server, ClusterClient):
            raise ServerAway(subject, error) from error
        raise


class RemoteBackend:
    """A Backend that calls servers. `servers`: returns a new object when an address or a CA has changed."""

    def __init__(self, servers: Callable[[], Servers], what_if: Processes | None = None) -> None:
        self.what_if = what_if
        self._servers = servers
        self._known = servers()
        self.audited = self._known.audit is not None
        self._readers: OrderedDict[bytes, RemoteReader] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def servers(self) -> Sequence[NamedServer]:
        known = self._servers()
        named = (("/v1", known.reconciler), ("the audit", known.audit))
        return named_servers((subject, each.url, each.server_name) for subject, each in named if each)

    def reader(self, login: UserLogin) -> UserReader:
        key, servers = login.digest(), self._servers()
        with self._lock:
            gone = self._forget(servers)
            found = self._readers.get(key)
            if found is None:
                found = self._readers[key] = _reader(servers, login)
            self._readers.move_to_end(key)
            gone += [self._readers.popitem(last=False)[1] for _ in range(len(self._readers) - _MOST)]
        for each in gone:
            each.close()
        return found

    def _forget(self, servers: Servers) -> list[RemoteReader]:
        """Drop the readers of the previous servers, and return them."""
        if servers is self._known:
            return []
        self._known, gone = servers, list(self._readers.values())
        self._readers.clear()
        return gone


def _reader(servers: Servers, login: UserLogin) -> RemoteReader:
    v1, audit = (_client(each, login) if each else None for each in (servers.reconciler, servers.audit))
    return RemoteReader(_client(servers.api, login), v1, audit)


def _client(endpoint: Endpoint, login: UserLogin) -> ClusterClient:
    """A client with the login of a user. The credentials of the endpoint are only used if the login has none."""
    header = login.authorization
    headers = tuple(login.impersonated.headers()) if login.impersonated else ()
    own = replace(endpoint, headers=headers)
    if header is not None:
        own = replace(own, authorization=lambda: header)
    return ClusterClient(own, timeouts=_TIMEOUTS, attempts=2, connections=_CONNECTIONS)
