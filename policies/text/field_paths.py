"""From a field path such as `spec.groups[0].name` to its place in the text of a manifest.

No tree of positions is kept for a document: findings are few, so its text is walked again for each of them, up to the
field in question. YAML and JSON are both walked as a stream of steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from policies.text.positions import Position, Span, position

MAX_JUMPS = 50
"""Aliases that one search follows; merges of merges would multiply them without bound."""


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
"""The steps of the value between two offsets of a text."""


class Walk:
    """One search along the steps of a text; `again` starts them anew, to find the anchor of an alias."""

    def __init__(self, steps: Iterator[Step], again: Callable[[], Iterator[Step]]):
        self._steps = steps
        self._again = again
        self._jumps = MAX_JUMPS

    def find(self, path: str) -> int | None:
        """The offset of the field, or of its nearest ancestor that is present; None for the whole value."""
        return _find(next(self._steps, None), self._steps, path, self._jump)

    def _jump(self, alias: Step) -> tuple[Step | None, Iterator[Step]]:
        """The step that the alias stands for, and those that follow it. An anchor precedes its aliases."""
        self._jumps -= 1
        if self._jumps < 0:
            return None, iter(())
        anchors = [step.offset for step in self._again() if step.anchor == alias.text and step.offset < alias.offset]
        steps = self._again()
        return next((step for step in steps if step.anchor == alias.text and step.offset in anchors[-1:]), None), steps


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
    """What follows `key` in the path: `.parent` after `spec` in `spec.parent`; None if the path takes another key."""
    for head in (f".{key}", f"[{key}]") if path[:1] in (".", "[") else (key,):
        rest = path[len(head) :]
        if path.startswith(head) and rest[:1] in ("", ".", "["):
            return rest
    return None


def _shown_at(key: Step, value: Step) -> int:
    """A scalar is shown at its own place; a mapping, a list and an empty value at their key."""
    return value.offset if value.kind is Kind.SCALAR and value.text else key.offset


def skip(value: Step, steps: Iterator[Step]) -> list[Step]:
    """Walk past the value; returns the aliases in it."""
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


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a text that holds a manifest, and how to find a field of it."""

    text: str
    steps: Steps
    span: Span
    line: int
    within: str = ""
    """Path of the manifest inside the span, where the span holds a list of manifests."""

    def locate(self, field: str) -> Position:
        """The field's value or key; where it is absent, its nearest ancestor; for "" the start of the manifest."""
        start, end, document = self.span
        path = self.within + (f".{field}" if self.within and field[:1] not in ("", "[") else field)
        if not path:
            return self.at(start)
        walk = Walk(self.steps(self.text, start, end), lambda: self.steps(self.text, *document))
        found = walk.find(path)
        return self.at(start if found is None else found)

    def at(self, offset: int) -> Position:
        """The position of a character; what an alias stands for may lie before the span, so count from the top then."""
        known = (self.span.start, self.line) if offset >= self.span.start else (0, 1)
        return position(self.text, offset, known=known)

    def inside(self, span: Span) -> Region:
        """The region of a value at or after the start of this one."""
        return Region(self.text, self.steps, span, self.at(span.start).line)
