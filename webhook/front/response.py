"""HTTP/1.1 responses as bytes: those of the WSGI app, and those of the loop itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from functools import lru_cache
from typing import Any, NamedTuple
from wsgiref.types import WSGIApplication

from webhook.front.reading import RequestRefused

log = logging.getLogger(__name__)

_BODILESS = ("1", "204", "304")
"""The first characters of the statuses whose responses have no body."""


class HttpResponse(NamedTuple):
    """A whole response.

    `status`: the code and its phrase, `200 OK`.
    """

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def to_bytes(self, *, close: bool) -> bytes:
        """The bytes to send. `close`: whether a header announces that the connection ends."""
        lines = [f"HTTP/1.1 {self.status}", f"Date: {_date(int(time.time()))}"]
        lines += [f"{name}: {value}" for name, value in self.headers if name != "Connection"]
        if close:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body

    @property
    def closes_connection(self) -> bool:
        """Whether the app requests that the connection is closed."""
        return ("Connection", "close") in self.headers


class DeferredResponse(NamedTuple):
    """A response that a worker thread computes.

    `compute`: returns the response, or one that another thread computes, once the author is known.
    `author`: the user who sent the request, for the limit of `Threads`; empty if unknown.
    """

    compute: Callable[[], HttpResponse | DeferredResponse]
    author: str = ""


def response_or_error(
    compute: Callable[[], HttpResponse | DeferredResponse], target: str
) -> HttpResponse | DeferredResponse:
    """Compute the response, or one with status 500 if that fails. `target`: the path of the request, for the log."""
    try:
        return compute()
    except Exception:
        log.exception("internal error in answering %s", target)
        return error_response(
            RequestRefused("500 Internal Server Error", "internal error; the log of the webhook has the traceback")
        )


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def call_app(app: WSGIApplication, environ: Mapping[str, Any]) -> HttpResponse:
    """The response of the app. Raises what the app raises."""
    started: list[Any] = []

    def start(status: str, headers: Iterable[tuple[str, str]], _error: object = None, /) -> Any:
        started[:] = [status, tuple(headers)]

    parts = app(dict(environ), start)
    try:
        body = b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()
    status, headers = started
    if not any(name.lower() == "content-length" for name, _ in headers) and not status.startswith(_BODILESS):
        headers = (*headers, ("Content-Length", str(len(body))))
    return HttpResponse(status, headers, body)


def error_response(refused: RequestRefused) -> HttpResponse:
    body = f"{refused}\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    return HttpResponse(refused.status, (*headers, *([("Retry-After", "1")] if refused.retry else [])), body)
