"""Sends a request and reads its response on an open connection.

http.client parses headers like those of an email, and sends head and body separately. Together with urllib3 this takes
six times as long as all the rest of a small write. This module supports only the parts of HTTP/1.1 that responses of
API servers use. A response with anything else counts as a broken connection.
"""

from __future__ import annotations

import re
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from urllib3.exceptions import ProtocolError

PIECE = 64 * 1024
"""The most bytes that are read at once."""
_LONGEST_HEAD = 64 * 1024
"""The maximum length of all header lines together, in bytes."""
_LENGTH = re.compile(rb"\d{1,15}\Z")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,12}\Z")
_STATUS = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: |\Z)")
_BARE = (204, 304)
"""Statuses without a body."""


class HttpAnswer(NamedTuple):
    """A response. `reusable`: the connection can be used for the next request."""

    status: int
    retry_after: str | None
    data: bytes
    reusable: bool = True


def exchange(connection: socket.socket, request: bytes, silence: float, whole: float) -> HttpAnswer:
    """Send the request once. Raises ProtocolError or OSError.

    Raises TimeoutError after `silence` seconds without a byte, and if the response takes longer than `whole` seconds.
    """
    connection.settimeout(silence)
    with suppress(ConnectionError):  # a server may answer and close before it has read a large request
        connection.sendall(request)
    incoming = _Incoming(connection, time.monotonic() + whole)
    while True:
        minor, status, headers = _head(incoming.until(b"\r\n\r\n", _LONGEST_HEAD))
        if status >= 200:
            break
    said = headers.get(b"connection", b"").lower()
    reusable = minor == 1 and said != b"close"
    if status in _BARE:
        data = b""
    elif b"transfer-encoding" in headers:
        data = _chunks(incoming, headers[b"transfer-encoding"])
    elif b"content-length" in headers:
        data = incoming.take(_number(headers[b"content-length"], _LENGTH, 10))
    else:
        data, reusable = incoming.rest(), False
    retry_after = headers.get(b"retry-after")
    return HttpAnswer(
        status, None if retry_after is None else retry_after.decode("latin-1"), data, reusable and not incoming.left
    )


def _head(content: bytes) -> tuple[int, int, dict[bytes, bytes]]:
    """The minor version, the status, and the headers by lower-case name. The last of repeated headers counts."""
    first, *lines = content.split(b"\r\n")
    found = _STATUS.match(first)
    if found is None:
        raise ProtocolError("the answer is not HTTP/1.1")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    return int(found[1]), int(found[2]), headers


def _chunks(incoming: _Incoming, encoding: bytes) -> bytes:
    if encoding.lower() != b"chunked":
        raise ProtocolError(f"the answer has the transfer encoding {encoding!r}")
    data = bytearray()
    while size := _number(incoming.until(b"\r\n", _LONGEST_HEAD).partition(b";")[0].strip(), _SIZE, 16):
        data += incoming.take(size)
        if incoming.take(2) != b"\r\n":
            raise ProtocolError("a chunk of the answer has another length than it says")
    while incoming.until(b"\r\n", _LONGEST_HEAD):
        pass  # a trailer
    return bytes(data)


def _number(text: bytes, form: re.Pattern[bytes], base: int) -> int:
    if not form.match(text):
        raise ProtocolError(f"the answer has no length: {text[:40]!r}")
    return int(text, base)


class _Incoming:
    """A buffer of received bytes. Methods raise ProtocolError if the connection ends too early, and TimeoutError after
    the time `until`."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until
        self._content = b""

    @property
    def left(self) -> bool:
        """Whether received bytes are left that were not taken."""
        return bool(self._content)

    def until(self, delimiter: bytes, most: int) -> bytes:
        """Take the bytes up to the delimiter and the delimiter itself; returns the bytes before it."""
        while (at := self._content.find(delimiter)) < 0:
            if len(self._content) > most:
                raise ProtocolError("the head of the answer is too long")
            self._content += self._piece()
        found, self._content = self._content[:at], self._content[at + len(delimiter) :]
        return found

    def take(self, size: int) -> bytes:
        pieces, length = [self._content], len(self._content)
        while length < size:
            pieces.append(self._piece())
            length += len(pieces[-1])
        whole = b"".join(pieces)
        self._content = whole[size:]
        return whole[:size]

    def rest(self) -> bytes:
        pieces, self._content = [self._content], b""
        while piece := self._received():
            pieces.append(piece)
        return b"".join(pieces)

    def _piece(self) -> bytes:
        piece = self._received()
        if not piece:
            raise ProtocolError("the connection was closed before the answer was complete")
        return piece

    def _received(self) -> bytes:
        if time.monotonic() > self._until:
            raise TimeoutError
        return self._connection.recv(PIECE)
