"""A WSGI app's answer as the bytes of an HTTP/1.1 response."""

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

_NO_BODY = ("1", "204", "304")


class AppAnswer(NamedTuple):
    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def rendered(self, *, close: bool) -> bytes:
        """`close`: tell the client that the connection ends with this response."""
        lines = [f"HTTP/1.1 {self.status}", f"Date: {_date(int(time.time()))}"]
        lines += [f"{name}: {value}" for name, value in self.headers if name != "Connection"]
        if close:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body

    @property
    def closes(self) -> bool:
        """Whether the app itself ends the connection."""
        return ("Connection", "close") in self.headers


class DeferredAnswer(NamedTuple):
    """What a thread does for an answer. `author`: whose share of the threads it takes; empty where it is not known."""

    answer: Callable[[], AppAnswer]
    author: str = ""


def finished(answers: Callable[[], AppAnswer], target: str) -> AppAnswer:
    """The answer; an internal error if it could not be computed."""
    try:
        return answers()
    except Exception:
        log.exception("internal error in answering %s", target)
        return refusal(
            RequestRefused("500 Internal Server Error", "internal error; the log of the webhook has the traceback")
        )


@lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def answer(app: WSGIApplication, environ: Mapping[str, Any]) -> AppAnswer:
    """What the app answers. Raises what the app raises."""
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
    if not any(name.lower() == "content-length" for name, _ in headers) and not status.startswith(_NO_BODY):
        headers = (*headers, ("Content-Length", str(len(body))))
    return AppAnswer(status, headers, body)


def refusal(refused: RequestRefused) -> AppAnswer:
    body = f"{refused}\n".encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    return AppAnswer(refused.status, (*headers, *([("Retry-After", "1")] if refused.retry else [])), body)
