"""JSON responses that several callers get. A response is encoded once, in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

_PIECE = 500
"""The entries of a list that are encoded in one call: no other thread can run during a call of the encoder."""


class SharedEntry(dict[str, Any]):
    """An entry of a list that several documents share. Do not change it after `text` was read: that is cached."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self)


class ApiDocument(dict[str, Any]):
    """The body of a response. Do not change it after `content` was read: that is cached."""

    @cached_property
    def content(self) -> bytes:
        """The document as JSON in ASCII; other characters are escaped."""
        members = (f"{json.dumps(name)}: {''.join(_pieces(value))}" for name, value in self.items())
        return f"{{{', '.join(members)}}}".encode()


def _pieces(value: object) -> Iterator[str]:
    if not isinstance(value, list):
        yield json.dumps(value)
        return
    for at in range(0, len(value), _PIECE):
        yield ", " if at else "["
        yield _entries(value[at : at + _PIECE])
    yield "]" if value else "[]"


def _entries(values: list[object]) -> str:
    if all(isinstance(each, SharedEntry) for each in values):
        return ", ".join(each.text for each in values if isinstance(each, SharedEntry))
    return json.dumps(values)[1:-1]
