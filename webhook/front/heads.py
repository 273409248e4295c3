"""Heads of requests that the parser has read, by their bytes: an API server sends the same few again and again."""

from __future__ import annotations

import re
from typing import NamedTuple

_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: ([1-9][0-9]{0,6})\r\n")
"""The header as Go and http.client write it. The longest has seven digits, so it changes no limit on lines."""
_LONGEST = 2048
"""Bytes of a head that is kept; that of an API server has 250."""
_MOST = 64
"""Heads that are kept: all paths, for some API servers of different versions."""


class Head(NamedTuple):
    """What the parser made of the bytes before the body."""

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
        """Its headers, with a body of this number of bytes."""
        return (*self.headers[: self.place], ("content-length", str(length)), *self.headers[self.place + 1 :])


class KnownHead(NamedTuple):
    """A head that was found at the begin of some bytes."""

    head: Head
    length: int
    """Bytes of the body."""
    end: int
    """The offset at which the body begins."""


class Heads:
    """Remembers heads of requests whose body has a length; those without are rare.

    The parser decides about each head line by line, and about the length by its digits alone. So a head that differs
    from one that it has read in nothing but these digits is read the same way, and nothing is parsed here.
    """

    def __init__(self) -> None:
        self._heads: dict[tuple[bytes, bytes], Head] = {}

    def find(self, data: bytes) -> KnownHead | None:
        """The head that `data` begins with, if it is whole and known."""
        cut = _cut(data)
        if cut is None:
            return None
        before, length, after, end = cut
        head = self._heads.get((before, after))
        return None if head is None else KnownHead(head, length, end)

    def learn(self, data: bytes, head: Head, length: int) -> None:
        """`data`, from the first byte of a request, was read as this head, with a body of `length` bytes."""
        cut = _cut(data)
        if cut is None or cut[1] != length:
            return
        if len(self._heads) >= _MOST:
            self._heads.clear()  # many different heads of one client cost the others one parsing each
        self._heads[cut[0], cut[2]] = head


def _cut(data: bytes) -> tuple[bytes, int, bytes, int] | None:
    """A head as (bytes before the digits of Content-Length, the length, bytes after the digits, end of the head)."""
    end = data.find(_END, 0, _LONGEST)
    found = _LENGTH.search(data, 0, end + 2) if end >= 0 else None
    if found is None:
        return None
    begin, stop = found.span(1)
    return data[:begin], int(found[1]), data[stop:end], end + len(_END)
