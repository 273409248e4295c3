"""Offsets, spans, and lines and columns of a text."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from typing import Any, NamedTuple

MAX_DEPTH = 100
"""The most levels of mappings and lists. A pod template, which is the deepest manifest, has about 15."""
TOO_DEEP = f"more than {MAX_DEPTH} mappings and lists within each other"


class Position(NamedTuple):
    """A line and a column, counted from 1. The column counts characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class BadText(Exception):
    """A text cannot be read.

    offset: the index of the first wrong character.
    accepted: whether kubectl may read such a text.
    """

    def __init__(self, offset: int, message: str, *, accepted: bool = False):
        super().__init__(message)
        self.offset = offset
        self.message = message
        self.accepted = accepted


class TextSpan(NamedTuple):
    """The characters [start, end) of a value. `document`: the span of the YAML document around it, with the anchors."""

    start: int
    end: int
    document: tuple[int, int]


class DocumentRoot(NamedTuple):
    """The value of a document. `items`: the spans of the entries of the list at its key `items`; empty without it."""

    value: Any
    span: TextSpan
    items: list[TextSpan]


def position(text: str, offset: int) -> Position:
    return Position(1 + text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset))


class TextLines:
    """Finds many positions in the same text. It searches for the line breaks once, unlike `position`."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _ends(self) -> list[int]:
        return [found.start() for found in re.finditer("\n", self._text)]

    def position(self, offset: int) -> Position:
        before = bisect_left(self._ends, offset)
        return Position(before + 1, offset - (self._ends[before - 1] if before else -1))
