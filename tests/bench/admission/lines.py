"""Connections to the API server for the simulated people and jobs, with a count of the requests."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from cluster.endpoint import from_kubeconfig
from tests.apiserver.kueue_world import KUEUE

Group = tuple[str, str]
"""Verb and resource with its subresource, as the API server's metrics name them."""
MERGE = "application/merge-patch+json"
_STALE = 20.0
"""Seconds after which an idle connection is not used again; the API server closes those that are idle for long."""


class Line:
    """A connection for one thread. `sent`: the number of requests by group."""

    def __init__(self, kubeconfig: Path) -> None:
        self.sent: Counter[Group] = Counter()
        endpoint = from_kubeconfig(None, str(kubeconfig))
        where = urlsplit(endpoint.url)
        self._connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=endpoint.tls)
        self._used = 0.0
        self._headers = {"Authorization": endpoint.authorization() or ""}

    def __enter__(self) -> Self:
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, bytes]:
        """The status and body of the answer."""
        if time.monotonic() > self._used + _STALE:
            self._connect()
        self.sent[method, resource_of(path)] += 1
        content = None if body is None else json.dumps(body)
        self._connection.request(method, path, content, {**self._headers, "Content-Type": kind})
        answer = self._connection.getresponse()
        self._used = time.monotonic()
        return answer.status, answer.read()

    def _connect(self) -> None:
        self._connection.close()
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._used = time.monotonic()

    def create(self, path: str, body: Any) -> None:
        """Raises RuntimeError if the API server refuses it."""
        status, answer = self.send("POST", path, body)
        if status != 201:
            raise RuntimeError(f"POST {path}: {status}: {answer[:300]!r}")


def resource_of(path: str) -> str:
    """Such as `workloads/status`, of /apis/GROUP/VERSION/namespaces/NAMESPACE/workloads/NAME/status."""
    parts = path.split("/")[4 if path.startswith("/apis/") else 3 :] or [path]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    return "/".join([parts[0], *parts[2:3]])


def make(kubeconfig: Path, manifests: Iterable[dict[str, Any]]) -> None:
    """Create objects of Kueue."""
    with Line(kubeconfig) as line:
        for manifest in manifests:
            plural = f"{manifest['kind'].lower()}s".replace("ys", "ies")
            namespace = manifest["metadata"].get("namespace")
            line.create(f"{KUEUE}/{f'namespaces/{namespace}/' if namespace else ''}{plural}", manifest)


def make_nodes(kubeconfig: Path, nodes: Iterable[dict[str, Any]]) -> None:
    """Create Nodes and remove the taint that the API server gives each until it is ready."""
    with Line(kubeconfig) as line:
        for node in nodes:
            line.create("/api/v1/nodes", node)
            line.send("PATCH", f"/api/v1/nodes/{node['metadata']['name']}", {"spec": {"taints": None}}, MERGE)
