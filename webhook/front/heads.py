"""Remembers parsed heads of requests by their bytes, since an API server sends the same few again and again."""

from __future__ import annotations

import re
from typing import NamedTuple

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: ([1-9][0-9]{0,6})\r\n")
"""The header as Go and http.client write it. It has at most seven digits, so the limits on lines still hold."""
_LONGEST = 2048
"""The most bytes of a head that is kept. The heads of an API server have 250."""
_MOST = 64
"""How many heads are kept: enough for all paths and some API servers of different versions."""


class Head(NamedTuple):
    """The bytes before the body, parsed."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    keep: bool
    """Whether the client keeps the connection."""
    waits: bool
    """Whether the client waits for `100 Continue` before it sends the body."""
    place: int
    """The index of `content-length` among the headers, -1 without one."""

    def of_length(self, length: int) -> tuple[tuple[str, str], ...]:
        """The headers for a body of this many bytes."""
        return (*self.headers[: self.place], ("content-length", str(length)), *self.headers[self.place + 1 :])


class KnownHead(NamedTuple):
    """A remembered head that was found at the start of some bytes."""

    head: Head
    length: int
    """The number of bytes of the body."""
    end: int
    """The offset at which the body begins."""


class Heads:
    """Remembers the heads of requests that have a Content-Length, as nearly all do.

    The parser reads a head line by line, and the length from its digits alone. If two heads differ only in these
    digits, it reads both the same way. So a head that was read before need not be parsed again.
    """

    def __init__(self) -> None:
        self._heads: dict[tuple[bytes, bytes], Head] = {}

    def find(self, data: bytes) -> KnownHead | None:
        """The head at the start of `data`; None if it is incomplete or not remembered."""
        cut = _cut(data)
        if cut is None:
            return None
        before, length, after, end = cut
        head = self._heads.get((before, after))
        return None if head is None else KnownHead(head, length, end)

    def learn(self, data: bytes, head: Head, length: int) -> None:
        """Remember how a head was parsed.

        `data`: the first bytes of the request.
        `length`: the number of bytes of its body.
        """
        cut = _cut(data)
        if cut is None or cut[1] != length:
            return
        if len(self._heads) >= _MOST:
            self._heads.clear()  # a client with many heads costs each other client one parsing
        self._heads[cut[0], cut[2]] = head


def _cut(data: bytes) -> tuple[bytes, int, bytes, int] | None:
    """Split a head: the bytes before the digits of Content-Length, the length, the bytes after them, the end."""
    end = data.find(_END, 0, _LONGEST)
    found = _LENGTH.search(data, 0, end + 2) if end >= 0 else None
    if found is None:
        return None
    begin, stop = found.span(1)
    return data[:begin], int(found[1]), data[stop:end], end + len(_END)
