"""Bytes of one connection -> requests, one after another. Bodies are read only where there is room for them."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from gunicorn.asgi import parser

SMALL = 64 * 1024
"""Bytes of a body that is always read: nearly all reviews are smaller."""
_PIECES = 4096
"""Pieces that any body may come in; beyond that they must have `_PIECE` bytes on average, or parsing costs too much."""
_PIECE = 1024
_STATUS = (
    (parser.LimitRequestLine, "414 URI Too Long"),
    (parser.LimitRequestHeaders, "431 Request Header Fields Too Large"),
    (parser.UnsupportedTransferCoding, "501 Not Implemented"),
)


class Refused(Exception):
    """The request is not answered by the app. `retry`: it may come again, in a second."""

    def __init__(self, status: str, text: str, *, retry: bool = False) -> None:
        super().__init__(text)
        self.status = status
        self.retry = retry

    @property
    def reason(self) -> str:
        """One word for metrics."""
        if self.retry:
            return "no-room"
        return "no-certificate" if self.status.startswith("403") else "malformed"


class _Enough(Exception):
    """The body is longer than allowed; the rest is not read."""


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request. `cut`: its body is longer than allowed, and not whole."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    cut: bool
    keep: bool
    """Whether the client keeps the connection."""

    def environ(self, peer: str, server: tuple[str, int]) -> dict[str, Any]:
        """The request as WSGI has it. Where the body is cut its length tells the app."""
        path, _, query = self.target.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": server[0],
            "SERVER_PORT": str(server[1]),
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": peer,
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "https",
            "wsgi.input": io.BytesIO(self.body),
            "wsgi.input_terminated": True,
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in self.headers:
            key = name.upper().replace("-", "_")
            if "_" in name:
                continue  # looks like another header once it is in the environ
            if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
                key = f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
        return environ


class Reader:
    """`limit` gives the longest body of a path, in bytes, or raises Refused.

    `room` reserves bytes, and is False where there are none left.
    """

    def __init__(self, limit: Callable[[str], int], room: Callable[[int], bool]) -> None:
        self._limit_of = limit
        self._room = room
        self._parser = parser.PythonProtocol(on_headers_complete=self._head, on_body=self._piece)
        self._begin()

    def _begin(self) -> None:
        self.awaits_continue = False
        """Whether the client waits for `100 Continue` before it sends the body."""
        self._body = bytearray()
        self._pieces = 0
        self._reserved = 0
        self._limit = 0
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Take what has arrived. Raises Refused."""
        try:
            self._parser.feed(data)
        except _Enough:
            self._cut = True
        except (parser.ParseError, ValueError) as error:  # ValueError: a number of thousands of digits
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), "400 Bad Request")
            raise Refused(status, f"the request is malformed: {error}") from None

    @property
    def complete(self) -> bool:
        return self._cut or bool(self._parser.is_complete)

    def take(self) -> Request:
        """The request that is complete. What was sent behind it remains to be read."""
        read = self._parser
        request = Request(
            read.method.decode("ascii"),
            read.path.decode("ascii"),
            tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in read.headers),
            bytes(self._body),
            self._cut,
            bool(read.should_keep_alive) and not self._cut,
        )
        rest = read.remaining()
        read.reset()
        self._begin()
        if rest:
            self._rest = rest
        return request

    _rest = b""

    def rest(self) -> bytes:
        """What was sent behind the last request, once."""
        rest, self._rest = self._rest, b""
        return rest

    def _head(self) -> bool:
        """True to leave the body out."""
        read = self._parser
        self._limit = self._limit_of(read.path.partition(b"?")[0].decode("ascii"))
        if (read.content_length or 0) > self._limit:
            self._cut = True
            return True
        self._reserve(read.content_length or 0)
        self.awaits_continue = any(name == b"expect" for name, _ in read.headers)
        return False

    def _piece(self, data: bytes) -> None:
        self._body += data
        self._pieces += 1
        if self._pieces > _PIECES + len(self._body) // _PIECE:
            raise Refused("400 Bad Request", "the body comes in too many small pieces")
        self._reserve(len(self._body))
        if len(self._body) > self._limit:
            raise _Enough

    def _reserve(self, size: int) -> None:
        if size <= max(SMALL, self._reserved):
            return
        if not self._room(size - self._reserved):
            raise Refused("429 Too Many Requests", "too many large requests at a time; try again", retry=True)
        self._reserved = size
