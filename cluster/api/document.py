"""An answer that several callers get: it is written once, and in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

_PIECE = 500
"""Entries of a list that are written at once: the encoder lets no other thread run meanwhile."""


class SharedEntry(dict[str, Any]):
    """An entry of a list that several documents have. Must not be changed once it is asked for its `text`."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self)


class ApiDocument(dict[str, Any]):
    """Must not be changed once it is asked for its `content`."""

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
