"""The small HTTP server for probes and metrics, of webhook and reconciler, in threads of its own.

It answers whatever the rest of the process does, and a silent client cannot keep others out: there is room for few
connections, each for a short time, and one more ends the oldest.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from cluster.http_server import BackgroundServer

_WHOLE = 10.0
"""Seconds that a connection may take in all."""
_ROOM = 32
"""Connections at a time."""
_PLAIN = "text/plain; charset=utf-8"
_PROBES = ("/healthz", "/livez", "/readyz")
Problems = Callable[[], Sequence[str]]
"""Returns what is wrong, in sentences; empty if nothing is."""
Guard = Callable[[str | None], int]
"""The status for a caller with this `Authorization` header: 200, or why not."""


def _anyone(_: str | None) -> int:
    return 200


class HealthServer(BackgroundServer):
    """See BackgroundServer for its address and its life.

    `notes` are shown with `ready`, and do not affect it. `tls` gives the context for the next connection, None
    is plain HTTP. `guard` says who may read the metrics; probes need no rights.
    """

    def __init__(
        self,
        host: str,
        port: int,
        live: Problems,
        ready: Problems,
        registry: CollectorRegistry,
        notes: Problems = list,
        *,
        tls: Callable[[], ssl.SSLContext] | None = None,
        guard: Guard = _anyone,
    ) -> None:
        super().__init__(host, port, _Handler, "health")
        self.live, self.ready, self.registry, self.notes = live, ready, registry, notes
        self._tls, self._guard = tls, guard
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    def answer(self, path: str, authorization: str | None = None) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        if path == "/metrics":
            status = self._guard(authorization)
            if status != 200:
                return status, _PLAIN, b"send a token of the cluster that may GET /metrics\n"
            return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)
        if path not in _PROBES:
            return 404, _PLAIN, b"here are /healthz, /livez, /readyz and /metrics\n"
        problems = (self.ready if path == "/readyz" else self.live)()
        lines = [*(problems or ["ok"]), *(self.notes() if path == "/readyz" else ())]
        return 503 if problems else 200, _PLAIN, "".join(f"{line}\n" for line in lines).encode()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= _ROOM:
                _end(next(iter(self._open)))
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Between two connections: end those that take too long."""
        before = time.monotonic() - _WHOLE
        with self._lock:
            for connection in [each for each, since in self._open.items() if since <= before]:
                _end(connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(_WHOLE)
        # The socket itself stays open until `shutdown_request`, so that it can be ended from outside.
        with self._tls().wrap_socket(request.dup(), server_side=True) as secured:
            super().finish_request(secured, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing is logged for clients that disconnect or do not speak TLS."""


def _end(connection: socket.socket) -> None:
    """Its thread reads the end, and closes it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: HealthServer
    timeout = _WHOLE
    server_version, sys_version = "quotree", ""

    def do_GET(self) -> None:
        status, kind, body = self.server.answer(self.path.partition("?")[0], self.headers.get("Authorization"))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds and are not logged."""
