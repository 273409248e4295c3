"""The reconciler's small HTTP server: /livez, /readyz and /metrics, in threads of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_STALL = 10.0
"""Seconds that a client may be silent in the middle of a request."""
_PLAIN = "text/plain; charset=utf-8"
_STOP = 0.05
"""Seconds after which `close` is noticed at the latest."""
Problems = Callable[[], Sequence[str]]
"""What is wrong, in sentences; empty where nothing is."""


class HealthServer(ThreadingHTTPServer):
    """Serves from `start` to `close`. Raises OSError where the address cannot be had; port 0 takes a free one.

    `notes` are shown with `ready`, and are no reason against it.
    """

    daemon_threads = True

    def __init__(
        self, host: str, port: int, live: Problems, ready: Problems, registry: CollectorRegistry, notes: Problems = list
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)
        self.live, self.ready, self.registry, self.notes = live, ready, registry, notes
        self._thread = threading.Thread(target=self.serve_forever, args=(_STOP,), name="health", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(self.registry)
        probes = {"/livez": self.live, "/readyz": self.ready}
        if path not in probes:
            return 404, _PLAIN, b"here are /livez, /readyz and /metrics\n"
        problems = probes[path]()
        lines = [*(problems or ["ok"]), *(self.notes() if path == "/readyz" else ())]
        return 503 if problems else 200, _PLAIN, "".join(f"{line}\n" for line in lines).encode()


class _Handler(BaseHTTPRequestHandler):
    server: HealthServer
    timeout = _STALL

    def do_GET(self) -> None:
        status, kind, body = self.server.answer(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds and are not logged."""
