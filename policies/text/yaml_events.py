"""Reads the events of a YAML text. In `policies`, only this module imports the YAML library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from policies.text.positions import BadText, position

__all__ = [
    "AliasEvent",
    "Composer",
    "DocumentStartEvent",
    "MappingEndEvent",
    "MappingStartEvent",
    "ScalarEvent",
    "SequenceEndEvent",
    "SequenceStartEvent",
    "StreamEndEvent",
    "YAMLError",
    "events",
    "syntax_error",
]

V = TypeVar("V")
YAMLError = yaml.YAMLError
_OPEN: Any = object()
"""Stands for an anchored value that is still being read."""


def events(text: str) -> Callable[[], Any]:
    """A function that returns the next event of the text. It raises YAMLError, which `syntax_error` explains."""
    try:
        next_event: Callable[[], Any] = CParser(text).get_event
    except UnicodeEncodeError as error:
        raise BadText(error.start, "not YAML: half of a surrogate pair is not a character") from None
    return next_event


class Composer(ABC, Generic[V]):
    """Reads the values of a part of a text. Subclasses build the scalars, mappings and lists."""

    def __init__(self, text: str, start: int, end: int):
        self._start = start
        self._next = events(text[start:end])
        self._anchors: dict[str, V] = {}

    def _node(self, event: Any, depth: int) -> V:
        kind = event.__class__
        if kind is AliasEvent:
            return self._repeated(self._anchored(event), event, depth)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = _OPEN
        value = self._scalar(event) if kind is ScalarEvent else self._collection(event, depth)
        if anchor is not None:
            self._anchors[anchor] = value
        return value

    def _anchored(self, alias: Any) -> V:
        if alias.anchor not in self._anchors:
            raise BadText(self._offset(alias), f"there is no anchor &{alias.anchor} before this alias")
        value = self._anchors[alias.anchor]
        if value is _OPEN:
            raise BadText(self._offset(alias), f"the anchor &{alias.anchor} contains itself")
        return value

    def _offset(self, event: Any) -> int:
        return int(event.start_mark.index) + self._start

    @abstractmethod
    def _scalar(self, event: Any) -> V: ...

    @abstractmethod
    def _collection(self, event: Any, depth: int) -> V:
        """The mapping or the list that starts with the event."""

    @abstractmethod
    def _repeated(self, value: V, alias: Any, depth: int) -> V:
        """The value of an alias for `value`."""


def syntax_error(error: yaml.YAMLError, text: str, start: int, end: int) -> BadText:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        offset = start + error.problem_mark.index
        if text[offset : offset + 1] == "\t":
            return BadText(offset, "a tab cannot indent YAML; use spaces")
        message = f"not YAML: {error.problem}"
        if error.context and error.context_mark is not None and error.context_mark.index + start != offset:
            line = position(text, start + error.context_mark.index).line
            message += f" {error.context}, which starts in line {line}"
        return BadText(offset, message)
    at = getattr(error, "position", 0)  # a ReaderError counts bytes
    before = text[start:end].encode()[:at].decode(errors="ignore")
    character = getattr(error, "character", 0)
    return BadText(start + len(before), f"the character U+{character:04X} is not allowed in YAML")
