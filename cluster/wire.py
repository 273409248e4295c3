"""Sends requests over persistent connections, with safe retries, renewed credentials and clear errors."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import urllib3

from cluster.decoding import decoded
from cluster.endpoint import Endpoint, open_pool
from cluster.errors import BadAnswer, ClusterError, Unauthorized, from_response
from cluster.exchange import PIECE, HttpAnswer, exchange
from cluster.retry import RandomBackoff, asked_wait, may_repeat
from cluster.unreachable import unreachable

T = TypeVar("T")
_UNSAFE = re.compile(r"[^!-~]")
"""Characters that are not allowed in a request line; urllib3 escapes or refuses them."""
_RELOGIN_EVERY = 10.0  # seconds between two attempts to get new credentials
_LONGEST_PAUSE = 10.0  # seconds; if the server asks for a longer wait, the caller gets the error and decides
_TOKEN_LASTS = 1.0  # seconds for which a token is cached: reading it from files costs as much as a small request


@dataclass(frozen=True)
class Timeouts:
    """Timeouts in seconds.

    `connect`: for a connection. `read`: for the next bytes of a response. `watch_grace`: how long a watch may be silent
    after the time at which the server should have ended it.
    """

    connect: float = 5.0
    read: float = 30.0
    watch_grace: float = 15.0

    @property
    def whole(self) -> float:
        """For a whole response other than a watch: a server that sends it byte by byte must not occupy a thread."""
        return 6 * self.read


@dataclass(frozen=True)
class HttpRequest:
    """One request. `idempotent`: it may be sent again even if the server may have received it."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = "application/json"
    idempotent: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Wire:
    """The connections to one API server. Raises only ClusterError and its subclasses."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeouts: Timeouts | Callable[[], Timeouts],
        attempts: int,
        connections: int,
        relogin: Callable[[], Endpoint] | None,
        pause: Callable[[float], object],
    ) -> None:
        self._timeouts = timeouts
        self._attempts = attempts
        self._connections = connections
        self._relogin = relogin
        self._relogin_at = float("-inf")
        self._lock = threading.Lock()
        self._pause = pause
        self._live = _Connections(endpoint, connections)

    @property
    def timeouts(self) -> Timeouts:
        """The timeouts of a request that begins now."""
        return self._timeouts if isinstance(self._timeouts, Timeouts) else self._timeouts()

    @property
    def host(self) -> str:
        return self._live.endpoint.url

    def close(self) -> None:
        """Close the idle connections; a later request opens new ones."""
        self._live.close()

    def call(self, request: HttpRequest, attempts: int | None = None) -> dict[str, Any]:
        """The JSON object of the response; sends the request up to `attempts` times if that is safe."""
        backoff: RandomBackoff | None = None
        left = attempts or self._attempts
        while True:
            left -= 1
            try:
                return _json_object(self._send(request, self._body), request)
            except ClusterError as error:
                backoff = backoff or RandomBackoff(first=0.1, longest=2.0)
                wait = backoff.next(asked_wait(error))
                if left < 1 or wait > _LONGEST_PAUSE or not may_repeat(error, idempotent=request.idempotent):
                    raise
            self._pause(wait)

    def stream(self, request: HttpRequest, silence: float) -> urllib3.BaseHTTPResponse:
        """The response with its body unread; reading fails after `silence` seconds without a byte."""
        return self._send(request, partial(self._unread_response, silence=silence))

    def _send(self, request: HttpRequest, answer_of: Callable[[HttpRequest], T]) -> T:
        """Send the request once; once more with new credentials if the old ones are rejected."""
        connections = self._live
        try:
            return answer_of(request)
        except Unauthorized:
            if not self._log_in_again(connections):
                raise
        return answer_of(request)

    def _body(self, request: HttpRequest) -> bytes:
        connections, timeouts = self._live, self.timeouts
        try:
            answer = connections.exchange(request, timeouts) if request.body is not None else None
            if answer is None:
                waits = urllib3.Timeout(connect=timeouts.connect, read=timeouts.read)
                answer = _read_answer(connections.send(request, waits), timeouts)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unreachable(connections.endpoint.url, error) from error
        _check(request, answer)
        return answer.data

    def _unread_response(self, request: HttpRequest, silence: float) -> urllib3.BaseHTTPResponse:
        """The response with its body unread."""
        connections = self._live
        try:
            response = connections.send(request, urllib3.Timeout(connect=self.timeouts.connect, read=silence))
            if response.status != 200:
                _check(request, _read_answer(response, self.timeouts))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unreachable(connections.endpoint.url, error) from error
        return response

    def _log_in_again(self, rejected: _Connections) -> bool:
        """Get new credentials, such as from a rotated file or a token plugin. Returns whether there are new ones."""
        with self._lock:
            if self._live is not rejected:
                return True  # another thread has renewed them
            if self._relogin is None or time.monotonic() - self._relogin_at < _RELOGIN_EVERY:
                return False
            self._relogin_at = time.monotonic()
            self._live = _Connections(self._relogin(), self._connections)
            return True


class _Connections:
    """The connections to one endpoint, and the headers of every request."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self.endpoint = endpoint
        self._pool = open_pool(endpoint, connections)
        self._direct()
        self._headers: Mapping[str, str] = {}
        self._sent_headers: tuple[Mapping[str, str], str | None] = {}, None
        self._renew_at = float("-inf")

    def send(self, request: HttpRequest, timeout: urllib3.Timeout) -> urllib3.BaseHTTPResponse:
        """Send the request once; the response's body is unread. Raises urllib3's exceptions."""
        headers = self._current_headers()
        if request.body is not None:
            headers = {**headers, "Content-Type": request.content_type}
        if self.endpoint.headers:
            headers = _joined_headers(headers, self.endpoint.headers)
        return self._ask(
            request.method,
            f"{self._where}{_target(request)}",
            body=None if request.body is None else json.dumps(request.body).encode(),
            headers=headers,
            timeout=timeout,
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,  # a compressed response was not asked for, and may expand a thousandfold
        )

    def exchange(self, request: HttpRequest, timeouts: Timeouts) -> HttpAnswer | None:
        """Send the request over an idle connection that is open; None if there is none or the request needs urllib3.

        Raises urllib3's exceptions and TimeoutError. The server may have received the request then.
        """
        path = f"{self._where}{_target(request)}"
        if self._host is None or self.endpoint.headers or _UNSAFE.search(path):
            return None
        if (prepared := self._prepared()) is None:
            return None
        connection: Any = self._host._get_conn()
        if connection.sock is None:
            self._host._put_conn(connection)
            return None
        content = json.dumps(request.body).encode()
        head = f"{request.method} {path} HTTP/1.1\r\n{prepared}Content-Type: {request.content_type}\r\n"
        whole = f"{head}Content-Length: {len(content)}\r\n\r\n".encode("latin-1") + content
        reusable = False
        try:
            answer = exchange(connection.sock, whole, timeouts.read, timeouts.whole)
            reusable = answer.reusable
            return answer
        finally:
            if not reusable:
                connection.close()
            self._host._put_conn(connection if reusable else None)

    def _prepared(self) -> str | None:
        """The common headers of all requests as text; None if a value has a character that headers may not have."""
        headers = self._current_headers()
        known, prepared = self._sent_headers
        if headers is not known:
            host = urlsplit(self.endpoint.url).netloc.rpartition("@")[2]
            every = {"Host": host, "Accept-Encoding": "identity", **headers}
            safe = all(value.isascii() and value.isprintable() for value in every.values())
            prepared = "".join(f"{name}: {value}\r\n" for name, value in every.items()) if safe else None
            self._sent_headers = headers, prepared
        return prepared

    def close(self) -> None:
        self._pool.clear()
        self._direct()

    def _direct(self) -> None:
        """Keep the connection pool of the host: its lookup by URL takes a third of the time of a small request.

        With a proxy there is no such pool, since urllib3's manager decides what to send.
        """
        self._ask: Callable[..., urllib3.BaseHTTPResponse]
        self._host: urllib3.HTTPConnectionPool | None
        if self.endpoint.proxy:
            self._host, self._ask, self._where = None, self._pool.urlopen, self.endpoint.url
        else:
            self._host = self._pool.connection_from_url(self.endpoint.url)
            self._ask, self._where = self._host.urlopen, urlsplit(self.endpoint.url).path

    def _current_headers(self) -> Mapping[str, str]:
        if time.monotonic() >= self._renew_at:
            authorization = self.endpoint.authorization()
            fixed = {"Accept": "application/json", "User-Agent": "quotree"}
            self._headers = {**fixed, **({"Authorization": authorization} if authorization else {})}
            self._renew_at = time.monotonic() + _TOKEN_LASTS
        return self._headers


def _joined_headers(headers: Mapping[str, str], more: Iterable[tuple[str, str]]) -> urllib3.HTTPHeaderDict:
    found = urllib3.HTTPHeaderDict(headers)
    for name, value in more:
        found.add(name, value)
    return found


def _target(request: HttpRequest) -> str:
    return f"{request.path}?{urlencode(request.params)}" if request.params else request.path


def _read_answer(response: urllib3.BaseHTTPResponse, timeouts: Timeouts) -> HttpAnswer:
    """The response with its whole body. Raises urllib3's exceptions and TimeoutError."""
    pieces, until = [], time.monotonic() + timeouts.whole
    while piece := response.read1(PIECE):
        pieces.append(piece)
        if time.monotonic() > until:
            response.close()
            raise TimeoutError
    return HttpAnswer(response.status, response.headers.get("Retry-After"), b"".join(pieces))


def _check(request: HttpRequest, answer: HttpAnswer) -> None:
    """Raise the matching ApiError if the status of the response is not 2xx."""
    if not 200 <= answer.status < 300:
        raise from_response(answer.status, answer.data, request=str(request), retry_after=answer.retry_after)


def _json_object(body: bytes, request: HttpRequest) -> dict[str, Any]:
    try:
        answer = decoded(body)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{request}: the response is not JSON ({error}); {_WRONG_SERVER}") from error
    if not isinstance(answer, dict):
        raise BadAnswer(f"{request}: the response is not a JSON object; {_WRONG_SERVER}")
    return answer


_WRONG_SERVER = "check that the server address of the context is that of an API server"
