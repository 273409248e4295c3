"""The small HTTP server for probes and metrics of the webhook and the reconciler, in its own threads.

It answers even if the rest of the process is busy. Silent clients cannot block others: the number of connections and
the time of each are limited, and a connection beyond that number ends the oldest one.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from cluster.http_server import STALL, BackgroundServer

log = logging.getLogger(__name__)
_WHOLE = 10.0
"""The maximum duration of a connection in seconds."""
_ROOM = 32
"""The maximum number of open connections."""
_SCRAPES = 8
"""The maximum number of concurrent requests for metrics. Such a request may wait for the API server, which checks the
caller, and then it does not end with its connection."""
_PLAIN = "text/plain; charset=utf-8"
_REFUSALS = {503: b"the API server could not check your token; try again\n"}
_SEND_TOKEN = b"send a token of the cluster that may GET /metrics\n"
_PROBES = ("/healthz", "/livez", "/readyz")
Problems = Callable[[], Sequence[str]]
"""Returns the problems as sentences; empty if there are none."""
Guard = Callable[[str | None], int]
"""Returns the HTTP status for a caller with this `Authorization` header: 200, or an error status."""


def _anyone(_: str | None) -> int:
    return 200


class HealthServer(BackgroundServer):
    """Serves `live`, `ready` and the metrics of `registry`. BackgroundServer describes the rest.

    `notes`: sentences that are shown with `ready` and do not affect it.
    `guard`: decides who may read the metrics. Probes need no rights.
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
        super().__init__(host, port, _Handler, "health", tls)
        self.live, self.ready, self.registry, self.notes = live, ready, registry, notes
        self._guard = guard
        self._open: dict[socket.socket, float] = {}
        """The connections that were not ended yet, the oldest first, and when they began."""
        self._lock = threading.Lock()
        self._scrapes = threading.BoundedSemaphore(_SCRAPES)

    def answer(self, path: str, authorization: str | None = None) -> tuple[int, str, bytes]:
        """The status, content type and body for a path."""
        if path == "/metrics":
            if not self._scrapes.acquire(blocking=False):
                return 503, _PLAIN, b"too many requests for metrics at a time; try again\n"
            try:
                return self._metrics(authorization)
            finally:
                self._scrapes.release()
        if path not in _PROBES:
            return 404, _PLAIN, b"here are /healthz, /livez, /readyz and /metrics\n"
        problems = (self.ready if path == "/readyz" else self.live)()
        lines = [*(problems or ["ok"]), *(self.notes() if path == "/readyz" else ())]
        return 503 if problems else 200, _PLAIN, "".join(f"{line}\n" for line in lines).encode()

    def _metrics(self, authorization: str | None) -> tuple[int, str, bytes]:
        status = self._guard(authorization)
        if status != 200:
            return status, _PLAIN, _REFUSALS.get(status, _SEND_TOKEN)
        return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= _ROOM:
                self._end(next(iter(self._open)))
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Called between two connections: end those that take too long."""
        before = time.monotonic() - _WHOLE
        with self._lock:
            for connection in [each for each, since in self._open.items() if since <= before]:
                self._end(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing is logged for clients that disconnect or do not speak TLS."""

    def _end(self, connection: socket.socket) -> None:
        """Shut the connection down. Its own thread then reads the end of the stream and closes it."""
        del self._open[connection]
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: HealthServer
    timeout = STALL
    server_version, sys_version = "quotree", ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        try:
            status, kind, body = self.server.answer(path, self.headers.get("Authorization"))
        except Exception:
            log.exception("internal error in answering %s", path)
            status, kind, body = 500, _PLAIN, b"internal error; the log has it\n"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests, since probes come every few seconds."""
