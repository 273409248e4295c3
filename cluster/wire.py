"""Sends requests over kept-alive connections: safe retries, fresh credentials, clear errors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3

from cluster.decoding import decoded
from cluster.endpoint import Endpoint, open_pool
from cluster.errors import BadAnswer, ClusterError, Unauthorized, from_response
from cluster.retry import Backoff, asked_wait, may_repeat
from cluster.unreachable import unreachable

_RELOGIN_EVERY = 10.0  # seconds between two attempts to get new credentials
_LONGEST_PAUSE = 10.0  # seconds; a caller that can wait longer does so itself
_TOKEN_LASTS = 1.0  # seconds; getting the token reads files and costs as much as a small request


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to connect, to wait for the next bytes, and how long a watch may be silent beyond its end."""

    connect: float = 5.0
    read: float = 30.0
    watch_grace: float = 15.0


@dataclass(frozen=True)
class Request:
    """One request; an `idempotent` one may be sent again even if the first may have arrived."""

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
        timeouts: Timeouts,
        attempts: int,
        connections: int,
        relogin: Callable[[], Endpoint] | None,
        pause: Callable[[float], object],
    ) -> None:
        self.timeouts = timeouts
        self._attempts = attempts
        self._connections = connections
        self._relogin = relogin
        self._relogin_at = float("-inf")
        self._lock = threading.Lock()
        self._pause = pause
        self._live = _Connections(endpoint, connections)

    @property
    def host(self) -> str:
        """The address of the API server, for messages."""
        return self._live.endpoint.url

    def close(self) -> None:
        """Close the idle connections; a later request opens new ones."""
        self._live.close()

    def call(self, request: Request, attempts: int | None = None) -> dict[str, Any]:
        """The JSON object of the response; sends the request up to `attempts` times if that is safe."""
        backoff: Backoff | None = None
        left = attempts or self._attempts
        while True:
            left -= 1
            try:
                return _json_object(self._send(request, self.timeouts.read).data, request)
            except ClusterError as error:
                backoff = backoff or Backoff(first=0.1, longest=2.0)
                wait = backoff.next(asked_wait(error))
                if left < 1 or wait > _LONGEST_PAUSE or not may_repeat(error, idempotent=request.idempotent):
                    raise
            self._pause(wait)

    def stream(self, request: Request, silence: float) -> urllib3.BaseHTTPResponse:
        """The response with its body unread; reading fails after `silence` seconds without a byte."""
        return self._send(request, silence, stream=True)

    def _send(self, request: Request, read: float, *, stream: bool = False) -> urllib3.BaseHTTPResponse:
        """Send the request once; once more with new credentials if the old ones are rejected."""
        connections = self._live
        try:
            return self._exchange(request, read, stream)
        except Unauthorized:
            if not self._log_in_again(connections):
                raise
        return self._exchange(request, read, stream)

    def _exchange(self, request: Request, read: float, stream: bool) -> urllib3.BaseHTTPResponse:
        connections = self._live
        timeout = urllib3.Timeout(connect=self.timeouts.connect, read=read)
        try:
            response = connections.send(request, timeout)
            if not (stream and response.status == 200):
                response.read(cache_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise unreachable(connections.endpoint.url, error) from error
        if not 200 <= response.status < 300:
            retry_after = response.headers.get("Retry-After")
            raise from_response(response.status, response.data, request=str(request), retry_after=retry_after)
        return response

    def _log_in_again(self, rejected: _Connections) -> bool:
        """Whether there are newer credentials than the rejected ones: a rotated file, or a token plugin's next one."""
        with self._lock:
            if self._live is not rejected:
                return True  # another thread was here first
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
        self._renew_at = float("-inf")

    def send(self, request: Request, timeout: urllib3.Timeout) -> urllib3.BaseHTTPResponse:
        """Send the request once; the response's body is unread. Raises what urllib3 raises."""
        query = f"?{urlencode(request.params)}" if request.params else ""
        headers = self._current_headers()
        if request.body is not None:
            headers = {**headers, "Content-Type": request.content_type}
        return self._ask(
            request.method,
            f"{self._where}{request.path}{query}",
            body=None if request.body is None else json.dumps(request.body).encode(),
            headers=headers,
            timeout=timeout,
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def close(self) -> None:
        self._pool.clear()
        self._direct()

    def _direct(self) -> None:
        """Keep the pool of this host at hand: a lookup by URL costs a third of a small request.

        With a proxy, urllib3's manager decides what to send.
        """
        self._ask: Callable[..., urllib3.BaseHTTPResponse]
        if self.endpoint.proxy:
            self._ask, self._where = self._pool.urlopen, self.endpoint.url
        else:
            self._ask = self._pool.connection_from_url(self.endpoint.url).urlopen
            self._where = urlsplit(self.endpoint.url).path

    def _current_headers(self) -> Mapping[str, str]:
        if time.monotonic() >= self._renew_at:
            authorization = self.endpoint.authorization()
            fixed = {"Accept": "application/json", "User-Agent": "quotree"}
            self._headers = {**fixed, **({"Authorization": authorization} if authorization else {})}
            self._renew_at = time.monotonic() + _TOKEN_LASTS
        return self._headers


def _json_object(body: bytes, request: Request) -> dict[str, Any]:
    try:
        answer = decoded(body)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"{request}: the response is not JSON ({error}); {_WRONG_SERVER}") from error
    if not isinstance(answer, dict):
        raise BadAnswer(f"{request}: the response is not a JSON object; {_WRONG_SERVER}")
    return answer


_WRONG_SERVER = "check that the server address of the context is that of an API server"
