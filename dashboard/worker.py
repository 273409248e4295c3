"""gunicorn's threaded worker, changed so that no client can occupy a thread for long."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

from gunicorn.http.errors import InvalidHeader
from gunicorn.workers.gthread import _DEFER, ThreadWorker

CONNECTIONS = 512
"""The maximum number of open connections. Beyond that, the oldest silent one is closed."""
_WHOLE = 30.0
"""The maximum seconds from the head of a request to the last byte of its response."""
_HEAD = 8.0
"""The maximum seconds from the first byte of a request to the last byte of its head."""
_POLL_SECONDS = 1.0


class BoundedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A threaded worker in which silent clients use no thread, and other clients use one for a limited time.

    In gunicorn, a thread waits 5 s for a silent client, and without limit for the rest of a request or for a slow
    reader. When all connections are open, gunicorn accepts no more.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: dict[int, tuple[float, Any]] = {}
        self._lock = threading.Lock()

    def init_process(self) -> None:
        threading.Thread(target=self._end_slow_connections, name="slow-clients", daemon=True).start()
        super().init_process()

    def accept(self, listener: Any) -> None:
        super().accept(listener)
        if self.nr_conns < self.worker_connections:
            return
        for idle, end in ((self.pending_conns, self.murder_pending), (self.keepalived_conns, self.murder_keepalived)):
            if idle:
                idle[0].timeout = 0.0  # end the first one, which is the oldest, as after a timeout
                end()
                return

    def handle(self, conn: Any) -> Any:
        if not conn.initialized and not conn.wait_for_data(0.0):
            return _DEFER
        with self._lock:
            self._under_way[id(conn)] = (time.monotonic() + _HEAD, conn)
        try:
            return super().handle(conn)
        finally:
            with self._lock:
                del self._under_way[id(conn)]

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer the request. Raises InvalidHeader, which gunicorn answers with 400, if a single header is repeated."""
        with self._lock:
            self._under_way[id(conn)] = (time.monotonic() + _WHOLE, conn)
        names = [name.upper() for name, _ in req.headers]
        for name in self.app.settings.single_headers:
            if names.count(name) > 1:
                raise InvalidHeader(name, req=req)
        return super().handle_request(req, conn)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.app.draining.set()
        super().handle_exit(sig, frame)

    def _end_slow_connections(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            now = time.monotonic()
            with self._lock:
                for end, conn in self._under_way.values():
                    if end < now:
                        with contextlib.suppress(OSError):  # the connection has just ended
                            conn.sock.shutdown(socket.SHUT_RDWR)
