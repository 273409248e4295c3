"""Reads the requests of one connection, one after another. A body is read only if there is memory for it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from gunicorn.asgi import parser

from webhook.front.heads import Head, Heads, KnownHead

SMALL = 64 * 1024
"""Bytes. A body up to this size is read without a reservation; nearly all reviews are smaller."""
BEGINNING = 4096
"""Bytes. So much is read of a body that says that it is too long. It has the uid and the operation of a review."""
_PIECES = 4096
"""The number of pieces in which any body may arrive. Further pieces must have `_PIECE` bytes on average, which limits
the time that they take."""
_PIECE = 1024
_STATUS = (
    (parser.LimitRequestLine, "414 URI Too Long"),
    (parser.LimitRequestHeaders, "431 Request Header Fields Too Large"),
    (parser.UnsupportedTransferCoding, "501 Not Implemented"),
)


class RequestRefused(Exception):
    """The loop refuses the request itself, and the app does not see it.

    `status`: the HTTP status.
    `retry`: whether the client may try again after a second.
    """

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


class WholeRequest(NamedTuple):
    """A request that has arrived.

    `target`: the path with the query.
    `cut`: whether the body is longer than allowed. Its end is missing then.
    `keep`: whether the client keeps the connection open.
    `gone`: returns whether the client has closed the connection.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    cut: bool
    keep: bool
    gone: Callable[[], bool] = lambda: False

    @property
    def path(self) -> str:
        """The path as it was sent, without the query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        return next((value for each, value in self.headers if each == name), "")

    def environ(self, peer: str, server: tuple[str, int]) -> dict[str, Any]:
        """The WSGI environment. The app sees from Content-Length that a body is cut."""
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
                continue  # in the environ it would look like the header with `-`
            if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
                key = f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
        return environ


class RequestReader:
    """Reads the requests of one connection.

    `limit`: returns the longest body of a path in bytes, or raises RequestRefused.
    `room`: reserves this number of bytes; returns False if too few are left.
    `heads`: the heads that any connection has sent.
    """

    def __init__(self, limit: Callable[[str], int], room: Callable[[int], bool], heads: Heads | None = None) -> None:
        self._limit_of = limit
        self._room = room
        self._heads = Heads() if heads is None else heads
        self._parser = parser.PythonProtocol(on_headers_complete=self._head, on_body=self._piece)
        self._rest = b""
        self._begin()

    def _begin(self) -> None:
        self.awaits_continue = False
        """Whether the client waits for `100 Continue` before it sends the body."""
        self._known: KnownHead | None = None
        """The head if `heads` has it. The parser gets nothing of such a request."""
        self._parsing = False
        """Whether the parser has got the beginning of this request."""
        self._first = b""
        """The first bytes of this request while the parser reads them."""
        self._body = bytearray()
        self._pieces = 0
        self._reserved = 0
        self._limit = 0
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Read these bytes, which have arrived. Raises RequestRefused."""
        try:
            if self._known is not None:
                self._more(self._known, data)
            elif not self._parsing and (known := self._heads.find(data)):
                self._known = known
                self._enter(known.head.target, known.length, known.head.waits)
                self._more(known, data[known.end :])
            else:
                self._first = b"" if self._parsing else data
                self._parsing = True
                self._parser.feed(data)
        except _Enough:
            self._cut = True
        except (parser.ParseError, ValueError) as error:  # ValueError: a number has thousands of digits
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), "400 Bad Request")
            raise RequestRefused(status, f"the request is malformed: {error}") from None

    @property
    def complete(self) -> bool:
        if self._known is not None:
            return self._cut or len(self._body) == self._known.length
        return self._cut or bool(self._parser.is_complete)

    def take(self) -> WholeRequest:
        """Return the complete request. Bytes after it remain for the next one."""
        if self._known is not None:
            head, length = self._known.head, self._known.length
            headers = head.of_length(length)
        else:
            head = _head_of(self._parser)
            headers = head.headers
            self._rest = self._parser.remaining()
            self._parser.reset()
        request = WholeRequest(
            head.method, head.target, headers, bytes(self._body), self._cut, head.keep and not self._cut
        )
        self._begin()
        return request

    def rest(self) -> bytes:
        """Return the bytes that arrived after the last request, and forget them."""
        rest, self._rest = self._rest, b""
        return rest

    @property
    def has_rest(self) -> bool:
        return bool(self._rest)

    def _more(self, known: KnownHead, data: bytes) -> None:
        """Read more of a body whose length is known."""
        left = known.length - len(self._body)
        self._rest = data[left:]
        if data:
            self._piece(data[:left])

    def _head(self) -> bool:
        """Called by the parser when it has read the head. Returns False, since the body is read."""
        read = self._parser
        head = _head_of(read)
        self._enter(head.target, read.content_length or 0, head.waits)
        if self._first and head.place >= 0:
            self._heads.learn(self._first, head, read.content_length)
        return False

    def _enter(self, target: str, length: int, waits: bool) -> None:
        self._limit = self._limit_of(target.partition("?")[0])
        if length > self._limit:
            self._limit = min(self._limit, BEGINNING)
        else:
            self._reserve(length)
        self.awaits_continue = waits

    def _piece(self, data: bytes) -> None:
        self._body += data
        self._pieces += 1
        if self._pieces > _PIECES + len(self._body) // _PIECE:
            raise RequestRefused("400 Bad Request", "the body comes in too many small pieces")
        self._reserve(len(self._body))
        if len(self._body) > self._limit:
            raise _Enough

    def _reserve(self, size: int) -> None:
        if size <= max(SMALL, self._reserved):
            return
        if not self._room(size - self._reserved):
            raise RequestRefused("429 Too Many Requests", "too many large requests at a time; try again", retry=True)
        self._reserved = size


def _head_of(read: Any) -> Head:
    headers = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in read.headers)
    names = [name for name, _ in headers]
    return Head(
        read.method.decode("ascii"),
        read.path.decode("ascii"),
        headers,
        bool(read.should_keep_alive),
        "expect" in names,
        names.index("content-length") if "content-length" in names else -1,
    )
