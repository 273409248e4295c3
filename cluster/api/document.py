"""An answer that several callers get: it is written once, and in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

_PIECE = 500
"""Entries of a list that are written at once: the encoder lets no other thread run meanwhile."""


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
        yield json.dumps(value[at : at + _PIECE])[1:-1]
    yield "]" if value else "[]"
