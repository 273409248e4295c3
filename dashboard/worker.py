"""gunicorn's threaded worker, changed so that slow clients delay no other client."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gunicorn.http.errors import InvalidHeader
from gunicorn.workers.gthread import _DEFER, ThreadWorker

CONNECTIONS = 512
"""The maximum number of open connections. Beyond that, the one that has waited for its client for longest is closed,
silent ones first."""
_TRANSFER = 30.0
"""The maximum seconds in which a client sends the body of a request, and in which it reads the response."""
_HEAD = 8.0
"""The maximum seconds from the first byte of a request to the last byte of its head."""
_LINGER = 2.0
"""The seconds in which a client may close an answered connection. Closed earlier, the answer might not reach it."""
_POLL_SECONDS = 1.0


class BoundedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A worker with a thread for each connection that sends or reads; `threads` requests are answered at a time.

    In gunicorn, a thread waits 5 s for a silent client, and without limit for the rest of a request or for a slow
    reader, and other requests wait for a thread. When all connections are open, gunicorn accepts no more.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._transferring: dict[int, tuple[float, Any]] = {}
        """When the time of each connection ends that waits for its client, by thread: the longest wait comes first."""
        self._lock = threading.Lock()
        self._answering = threading.BoundedSemaphore(self.cfg.threads)

    def get_thread_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.worker_connections)

    def init_process(self) -> None:
        threading.Thread(target=self._end_slow_connections, name="slow-clients", daemon=True).start()
        super().init_process()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self._flask, self.wsgi = self.app.wsgi(), self._answer

    def accept(self, listener: Any) -> None:
        super().accept(listener)
        if self.nr_conns < self.worker_connections:
            return
        for idle, end in ((self.pending_conns, self.murder_pending), (self.keepalived_conns, self.murder_keepalived)):
            if idle:
                idle[0].timeout = 0.0  # end the first one, which is the oldest, as after a timeout
                end()
                return
        with self._lock:
            for _, conn in list(self._transferring.values())[:1]:
                _end(conn)

    def handle(self, conn: Any) -> Any:
        if not conn.initialized and not conn.wait_for_data(0.0):
            return _DEFER
        self._wait_for(conn, _HEAD)
        try:
            result = super().handle(conn)
            if not result:
                self._linger(conn)
            return result
        finally:
            self._waits_no_longer()

    def finish_request(self, conn: Any, fs: Future[Any]) -> None:
        """Close the connection if it is not kept. gunicorn lingers here, and answers nobody meanwhile."""
        if fs.cancelled() or fs.exception() or not fs.result():
            self.nr_conns -= 1
            conn.close()
        else:
            super().finish_request(conn, fs)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer the request. Raises InvalidHeader, which gunicorn answers with 400, if a single header is repeated."""
        self._wait_for(conn, _TRANSFER)
        names = [name.upper() for name, _ in req.headers]
        for name in self.app.settings.single_headers:
            if names.count(name) > 1:
                raise InvalidHeader(name, req=req)
        return super().handle_request(req, conn)

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.app.draining.set()
        super().handle_exit(sig, frame)

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        """The WSGI application, which has the whole body and so does not wait for the client."""
        environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(self._flask.config["MAX_CONTENT_LENGTH"] + 1))
        conn = self._waits_no_longer()
        with self._answering:
            answer = self._flask(environ, start_response)
        self._wait_for(conn, _TRANSFER)
        return answer

    def _linger(self, conn: Any) -> None:
        self._wait_for(conn, _LINGER)
        with contextlib.suppress(OSError):  # the client has closed it
            conn.sock.shutdown(socket.SHUT_WR)
            while conn.sock.recv(4096):
                pass

    def _wait_for(self, conn: Any, seconds: float) -> None:
        self._waits_no_longer()
        with self._lock:
            self._transferring[threading.get_ident()] = (time.monotonic() + seconds, conn)

    def _waits_no_longer(self) -> Any:
        """This thread's connection, if it was waiting for its client."""
        with self._lock:
            return self._transferring.pop(threading.get_ident(), (0.0, None))[1]

    def _end_slow_connections(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            now = time.monotonic()
            with self._lock:
                for end, conn in self._transferring.values():
                    if end < now:
                        _end(conn)


def _end(conn: Any) -> None:
    with contextlib.suppress(OSError):  # the connection has just ended
        conn.sock.shutdown(socket.SHUT_RDWR)
