"""A small HTTP server in its own threads."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_STOP = 0.05
"""Seconds after which `close` is noticed at the latest."""
STALL = 10.0
"""Seconds that a client may be silent in a handshake or a request."""


class BackgroundServer(ThreadingHTTPServer):
    """Serves from `start` to `close`. Port 0 means any free port. Raises OSError if the address is not available.

    `tls`: returns the TLS context for the next connection; None means plain HTTP. The handshake runs in the
    connection's own thread, so that a silent client delays no other client.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        host: str,
        port: int,
        handler: type[BaseHTTPRequestHandler],
        thread: str,
        tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)
        self._tls = tls
        self._thread = threading.Thread(target=self.serve_forever, args=(_STOP,), name=thread, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(STALL)
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        # The socket itself stays open until `shutdown_request`, so that it can be ended from outside.
        with self._tls().wrap_socket(request.dup(), server_side=True) as secured:
            super().finish_request(secured, client_address)
