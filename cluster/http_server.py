"""A small HTTP server in its own threads."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_STOP = 0.05
"""Seconds after which `close` is noticed at the latest."""


class BackgroundServer(ThreadingHTTPServer):
    """Serves from `start` to `close`. Port 0 means any free port. Raises OSError if the address is not available."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler], thread: str) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(_STOP,), name=thread, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()
