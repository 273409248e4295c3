"""A server of JSON over HTTPS, in its own threads. Plain HTTP is only allowed on loopback, since requests have tokens.

At the limit of connections, the one that has been sending its request or reading its response for longest ends.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

from cluster.addresses import is_loopback
from cluster.api.callers import Impersonated, impersonated
from cluster.api.document import ApiDocument
from cluster.api.refusal import HttpRefusal
from cluster.http_server import STALL, BackgroundServer
from cluster.reviews import Caller

log = logging.getLogger(__name__)
_ROOM = 64
"""The maximum number of open connections."""
_PATIENCE = 1.0
"""Seconds that a further connection waits for a free place before it is closed."""


class Passed(Protocol):
    """Answers the requests that the API server forwards. Many threads call it."""

    def caller(self, certificate: Mapping[str, Any] | None, headers: Message) -> Caller | None:
        """The user in the headers; None if the connection is not from the API server."""

    def answer(self, target: str, caller: Caller) -> dict[str, Any]:
        """See `Answers.answer`."""


class Answers(Protocol):
    """The source of the responses. Many threads call it."""

    def answer(self, target: str, authorization: str | None, wanted: Impersonated | None = None) -> dict[str, Any]:
        """The response for `target`, a path with its query. Raises HttpRefusal."""


class ApiServer(BackgroundServer):
    """Serves `api`, and `passed` for requests that the API server forwards.

    Raises OSError if the address is not available, and ValueError for plain HTTP at an address other than loopback.
    """

    def __init__(
        self,
        host: str,
        port: int,
        api: Answers,
        tls: Callable[[], ssl.SSLContext] | None = None,
        passed: Passed | None = None,
    ) -> None:
        if tls is None and not is_loopback(host):
            raise ValueError(f"{host}: tokens must not cross a network unencrypted; serve /v1 with certificates")
        super().__init__(host, port, _Handler, "v1", tls)
        self.api, self.passed = api, passed
        self._room = threading.BoundedSemaphore(_ROOM)
        self._transferring: dict[Any, socket.socket] = {}
        """The connections that wait for their client, by its address: the one that has waited longest comes first."""
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self._end_slowest()
            if not self._room.acquire(timeout=_PATIENCE):
                self.shutdown_request(request)
                return
        with self._lock:
            self._transferring[client_address] = request
        super().process_request(request, client_address)

    def _end_slowest(self) -> None:
        """Shut down the connection that has waited for its client for longest. Its own thread then closes it."""
        with self._lock, contextlib.suppress(StopIteration, OSError):  # none waits, or it has just ended
            self._transferring.pop(next(iter(self._transferring))).shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def answering(self, client_address: Any) -> Iterator[None]:
        """While a request is answered, its connection does not wait for its client, so it is not ended."""
        connection = self._no_longer_transferring(client_address)
        yield
        if connection is not None:
            with self._lock:
                self._transferring[client_address] = connection

    def _no_longer_transferring(self, client_address: Any) -> socket.socket | None:
        with self._lock:
            return self._transferring.pop(client_address, None)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            super().finish_request(request, client_address)
        finally:
            self._no_longer_transferring(client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002, the name is given
        """Log on level debug only: a client did not speak TLS, did not trust the certificate or disconnected."""
        log.debug("a connection for /v1 ended early", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer
    timeout = STALL
    server_version, sys_version = "quotree", ""

    def do_GET(self) -> None:
        code = 200
        with self.server.answering(self.client_address):
            try:
                body = self._answered()
            except HttpRefusal as refusal:
                code, body = refusal.code, refusal.body()
            except Exception:
                log.exception("internal error in answering %s", self.path)
                code, body = 500, HttpRefusal(500, "internal error; the log has it").body()
        self._send(code, body)

    def _answered(self) -> dict[str, Any]:
        """Authenticate the caller and answer the request. Raises HttpRefusal."""
        passed = self.server.passed
        if passed is not None and isinstance(self.connection, ssl.SSLSocket):
            caller = passed.caller(self.connection.getpeercert(), self.headers)
            if caller is not None:
                return passed.answer(self.path, caller)
        authorization, wanted = self.headers.get("Authorization"), impersonated(self.headers)
        return self.server.api.answer(self.path, authorization, wanted)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Called by http.server for methods other than GET and for malformed requests."""
        known = 405 if code == 501 else code
        self._send(known, HttpRefusal(known, "only GET is supported" if known == 405 else message or "").body())

    def _send(self, code: int, body: dict[str, Any]) -> None:
        content = (body if isinstance(body, ApiDocument) else ApiDocument(body)).content
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if code == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if code in (429, 503):
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log no requests: paths have names of users' workloads, and the API server's audit log has the callers."""
