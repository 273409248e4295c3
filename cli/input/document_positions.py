"""Where in a text a field path of a manifest stands.

No tree of positions is kept for a document: findings are few, so its text is walked again for each, up to the field
that is asked for. YAML and JSON alike are walked as a stream of steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

MAX_DEPTH = 100
"""Mappings and lists within each other; a pod template, the deepest of manifests, has about 15."""
TOO_DEEP = f"more than {MAX_DEPTH} mappings and lists within each other"

MAX_JUMPS = 50
"""Aliases that one search follows; merges of merges would multiply them beyond measure."""


class Position(NamedTuple):
    """Both count from 1; the column counts characters."""

    line: int
    column: int


class BadDocument(Exception):
    """A text that cannot be read as a manifest; `offset` is the index of the character at fault."""

    def __init__(self, offset: int, message: str):
        super().__init__(message)
        self.offset = offset
        self.message = message


class Span(NamedTuple):
    """The characters [start, end) of a value; `document` spans the YAML document around it, where its anchors are."""

    start: int
    end: int
    document: tuple[int, int]


class Root(NamedTuple):
    """A value that is a document of its own, and the spans of the list under its key `items`, if it has one."""

    value: Any
    span: Span
    items: list[Span]


class Kind(Enum):
    SCALAR = auto()
    MAPPING = auto()  # key, value, key, value ... CLOSE
    LIST = auto()  # value, value ... CLOSE
    CLOSE = auto()
    ALIAS = auto()  # `text` is the anchor it stands for


class Step(NamedTuple):
    kind: Kind
    offset: int
    text: str = ""
    anchor: str | None = None


Steps = Callable[[str, int, int], Iterator[Step]]
"""The steps of the value that stands in a text from one offset to another."""


class Walk:
    """One search along the steps of a text; `again` starts them anew, for what an alias stands for."""

    def __init__(self, steps: Iterator[Step], again: Callable[[], Iterator[Step]]):
        self._steps = steps
        self._again = again
        self._jumps = MAX_JUMPS

    def find(self, path: str) -> int | None:
        """The offset of the field, or of its nearest ancestor that is there; None for the value walked itself."""
        return _find(next(self._steps, None), self._steps, path, self._jump)

    def _jump(self, alias: Step) -> tuple[Step | None, Iterator[Step]]:
        """The step that the alias stands for, and those that follow it. It always stands before the alias."""
        self._jumps -= 1
        if self._jumps < 0:
            return None, iter(())
        places = [step.offset for step in self._again() if step.anchor == alias.text and step.offset < alias.offset]
        steps = self._again()
        return next((step for step in steps if step.anchor == alias.text and step.offset in places[-1:]), None), steps


Jump = Callable[[Step], tuple[Step | None, Iterator[Step]]]


def _find(step: Step | None, steps: Iterator[Step], path: str, jump: Jump) -> int | None:
    if step is None or not path:
        return None
    if step.kind is Kind.ALIAS:
        return _find(*jump(step), path, jump)
    if step.kind is Kind.MAPPING:
        return _find_key(steps, path, jump)
    if step.kind is Kind.LIST:
        return _find_item(steps, path, jump)
    return None


def _find_key(steps: Iterator[Step], path: str, jump: Jump) -> int | None:
    merged: list[Step] = []
    for key in steps:
        value = next(steps, None)
        if key.kind is Kind.CLOSE or value is None:
            break
        rest = _after(path, key.text)
        if rest is not None:
            deeper = _find(value, steps, rest, jump)
            return _shown_at(key, value) if deeper is None else deeper
        aliases = skip(value, steps)
        merged += aliases if key.text == "<<" else []
    found = (_find(alias, iter(()), path, jump) for alias in merged)
    return next((offset for offset in found if offset is not None), None)


def _find_item(steps: Iterator[Step], path: str, jump: Jump) -> int | None:
    index = re.match(r"\[([0-9]{1,9})\]", path)
    if index is None:
        return None
    for _ in range(int(index[1])):
        skipped = next(steps, None)
        if skipped is None or skipped.kind is Kind.CLOSE:
            return None
        skip(skipped, steps)
    value = next(steps, None)
    if value is None or value.kind is Kind.CLOSE:
        return None
    deeper = _find(value, steps, path[index.end() :], jump)
    return value.offset if deeper is None else deeper


def _after(path: str, key: str) -> str | None:
    """What follows `key` in the path, so `.parent` after `spec` in `spec.parent`; None where it goes elsewhere."""
    for head in (f".{key}", f"[{key}]") if path[:1] in (".", "[") else (key,):
        rest = path[len(head) :]
        if path.startswith(head) and rest[:1] in ("", ".", "["):
            return rest
    return None


def _shown_at(key: Step, value: Step) -> int:
    """A scalar is shown itself; what has parts or nothing to show, at its key."""
    return value.offset if value.kind is Kind.SCALAR and value.text else key.offset


def skip(value: Step, steps: Iterator[Step]) -> list[Step]:
    """Walk past the value; the aliases in it."""
    aliases = [value] if value.kind is Kind.ALIAS else []
    depth = 1 if value.kind in (Kind.MAPPING, Kind.LIST) else 0
    while depth:
        step = next(steps, None)
        if step is None:
            break
        if step.kind is Kind.ALIAS:
            aliases.append(step)
        depth += 1 if step.kind in (Kind.MAPPING, Kind.LIST) else -1 if step.kind is Kind.CLOSE else 0
    return aliases


def position(text: str, offset: int, *, known: tuple[int, int] = (0, 1)) -> Position:
    """The place of the character at `offset`. `known` is an offset at or before it and the line of that."""
    start, line = known
    return Position(line + text.count("\n", start, offset), offset - text.rfind("\n", 0, offset))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a manifest stands in a text, and how to find a field of it."""

    text: str
    steps: Steps
    span: Span
    line: int
    within: str = ""
    """Path of the manifest inside the span, where that holds a list of them."""

    def locate(self, field: str) -> Position:
        """The field's value or key; of its nearest ancestor where the field is absent; the document's start for ""."""
        start, end, document = self.span
        path = self.within + (f".{field}" if self.within and field[:1] not in ("", "[") else field)
        if not path:
            return self.at(start)
        walk = Walk(self.steps(self.text, start, end), lambda: self.steps(self.text, *document))
        found = walk.find(path)
        return self.at(start if found is None else found)

    def at(self, offset: int) -> Position:
        """An alias may lead to before the span, where only counting from the top helps."""
        known = (self.span.start, self.line) if offset >= self.span.start else (0, 1)
        return position(self.text, offset, known=known)

    def inside(self, span: Span) -> Place:
        """The place of a value at or after the start of this one."""
        return Place(self.text, self.steps, span, self.at(span.start).line)
