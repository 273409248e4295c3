"""gunicorn's worker with threads, in which nobody can hold a thread for long."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

_WHOLE = 30.0
"""Seconds from the head of a request to the last byte of its answer."""
_HEAD = 8.0
"""Seconds from the first byte of a request to the last byte of its head."""
_LOOK = 1.0


class BoundedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn waits for a silent client elsewhere, but for the rest of a request, or for a reader, without end."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: dict[int, tuple[float, Any]] = {}
        self._lock = threading.Lock()

    def init_process(self) -> None:
        threading.Thread(target=self._end_the_slow, name="slow-clients", daemon=True).start()
        super().init_process()

    def handle(self, conn: Any) -> Any:
        with self._lock:
            self._under_way[id(conn)] = (time.monotonic() + _HEAD, conn)
        try:
            return super().handle(conn)
        finally:
            with self._lock:
                del self._under_way[id(conn)]

    def handle_request(self, req: Any, conn: Any) -> Any:
        with self._lock:
            self._under_way[id(conn)] = (time.monotonic() + _WHOLE, conn)
        return super().handle_request(req, conn)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.app.draining.set()
        super().handle_exit(sig, frame)

    def _end_the_slow(self) -> None:
        while True:
            time.sleep(_LOOK)
            now = time.monotonic()
            with self._lock:
                for end, conn in self._under_way.values():
                    if end < now:
                        with contextlib.suppress(OSError):  # it has just ended
                            conn.sock.shutdown(socket.SHUT_RDWR)
