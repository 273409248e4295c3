"""Finds the place of a field path such as `spec.groups[0].name` in the text of a manifest.

The first search in a part of a text walks over all its steps and remembers the places of all values. Most objects have
few findings, but some have thousands. The steps are the same for YAML and JSON.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple, TypeAlias

from policies.text.positions import Position, TextLines, TextSpan

MAX_JUMPS = 50
"""The most aliases that one search follows. Without a limit, merges of merges could multiply them."""
_MAX_SPLITS = 20
"""The most places at which a path is split after its first key. A key with more separators is shown at its mapping."""
_SPLIT = frozenset(".[]")
"""The separators of a path."""


class StepKind(Enum):
    SCALAR = auto()
    MAPPING = auto()  # key, value, key, value ... CLOSE
    LIST = auto()  # value, value ... CLOSE
    CLOSE = auto()
    ALIAS = auto()  # `text` is the name of the anchor


class PathStep(NamedTuple):
    """One step of a walk over a text.

    `offset`: where the scalar, the mapping, the list or the alias begins.
    `text`: the text of a scalar, or the name of an alias.
    `anchor`: the name of the anchor of the value, or None.
    """

    kind: StepKind
    offset: int
    text: str = ""
    anchor: str | None = None


Steps = Callable[[str, int, int], Iterator[PathStep]]
"""The steps of the value between two offsets of a text."""


@dataclass(slots=True)
class _Spot:
    """The place of a value.

    `shown`: whether a finding is shown at the value itself, not at its key.
    `alias`: the name of the anchor if it is an alias. An alias has neither keys nor items.
    `keys`: for each key, its index in the mapping, its offset, and its value; None if it is not a mapping.
    `plain`: whether no key has a dot or a bracket, so that a path can be split in only one way.
    `items`: the items; None if it is not a list.
    `merged`: the aliases at `<<`.
    """

    offset: int
    shown: bool = False
    alias: str = ""
    keys: dict[str, tuple[int, int, _Spot]] | None = None
    plain: bool = True
    items: list[_Spot] | None = None
    merged: list[_Spot] = field(default_factory=list)


_Anchors: TypeAlias = dict[str, list[tuple[int, _Spot]]]
"""The places and values of anchors by name, in the order of the text."""


class Outline:
    """The places of the values between two offsets.

    `document`: the outline of the YAML document around them, which has the anchors.
    """

    def __init__(self, text: str, steps: Steps, start: int, end: int, document: Outline | None = None) -> None:
        self.text = text
        self.steps = steps
        self.bounds = (start, end)
        self.document = document

    def find(self, path: str) -> int | None:
        """The offset of the field, or of its nearest present ancestor; None if that is the whole value."""
        return _Search(self).below(self._walked[0], path)

    def named(self, alias: _Spot) -> _Spot | None:
        """The value of the alias: that of the last anchor with its name before the alias."""
        found = (self.document or self)._walked[1].get(alias.alias, [])
        place = bisect_left(found, alias.offset, key=lambda each: each[0])
        return found[place - 1][1] if place else None

    @cached_property
    def _walked(self) -> tuple[_Spot | None, _Anchors]:
        """The top value and the anchors."""
        anchors: _Anchors = {}
        return _build(self.steps(self.text, *self.bounds), anchors), anchors


def _build(steps: Iterator[PathStep], anchors: _Anchors) -> _Spot | None:
    """The first value of the steps. If the text has a fault, the part before the fault."""
    first = next(steps, None)
    if first is None or first.kind is StepKind.CLOSE:
        return None
    top = _spot(first, anchors)
    around = [_Open(top)] if first.kind in (StepKind.MAPPING, StepKind.LIST) else []
    while around and (step := next(steps, None)) is not None:
        if step.kind is StepKind.CLOSE:
            around.pop()
            continue
        spot = _spot(step, anchors)
        if not around[-1].take(step, spot):
            continue
        if spot.alias:
            for merging in around:
                merging.merge(spot)
        if step.kind in (StepKind.MAPPING, StepKind.LIST):
            around.append(_Open(spot))
    return top


def _spot(step: PathStep, anchors: _Anchors) -> _Spot:
    spot = _Spot(step.offset)
    match step.kind:
        case StepKind.SCALAR:
            spot.shown = bool(step.text)
        case StepKind.MAPPING:
            spot.keys = {}
        case StepKind.LIST:
            spot.items = []
        case StepKind.ALIAS:
            spot.alias = step.text
    if step.anchor is not None:
        anchors.setdefault(step.anchor, []).append((step.offset, spot))
    return spot


class _Open:
    """A mapping or list whose end has not been reached yet."""

    def __init__(self, spot: _Spot) -> None:
        self._spot = spot
        self._key: PathStep | None = None
        self._last = ""

    def take(self, step: PathStep, spot: _Spot) -> bool:
        """Take the next step. Returns whether it is a value, not a key."""
        if self._spot.items is not None:
            self._spot.items.append(spot)
            return True
        if self._key is None:
            self._key = step
            return False
        keys = self._spot.keys
        assert keys is not None
        keys.setdefault(self._key.text, (len(keys), self._key.offset, spot))
        if not _SPLIT.isdisjoint(self._key.text):
            self._spot.plain = False
        self._last, self._key = self._key.text, None
        return True

    def merge(self, alias: _Spot) -> None:
        if self._last == "<<":
            self._spot.merged.append(alias)


class _Search:
    """One search. It follows a limited number of aliases."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._jumps = MAX_JUMPS

    def below(self, spot: _Spot | None, path: str) -> int | None:
        while spot is not None and spot.alias and path:
            self._jumps -= 1
            spot = self._outline.named(spot) if self._jumps >= 0 else None
        if spot is None or not path:
            return None
        if spot.keys is not None:
            return self._in_mapping(spot, spot.keys, path)
        return self._in_list(spot.items, path) if spot.items is not None else None

    def _in_mapping(self, spot: _Spot, keys: dict[str, tuple[int, int, _Spot]], path: str) -> int | None:
        fitting = [(keys[key], rest) for key, rest in _splits(path, spot.plain) if key in keys]
        if fitting:
            (_, at, value), rest = min(fitting, key=lambda each: each[0][0])
            deeper = self.below(value, rest)
            return (value.offset if value.shown else at) if deeper is None else deeper
        found = (self.below(alias, path) for alias in spot.merged)
        return next((offset for offset in found if offset is not None), None)

    def _in_list(self, items: list[_Spot], path: str) -> int | None:
        index = re.match(r"\[([0-9]{1,9})\]", path)
        if index is None or int(index[1]) >= len(items):
            return None
        value = items[int(index[1])]
        deeper = self.below(value, path[index.end() :])
        return value.offset if deeper is None else deeper


def _splits(path: str, plain: bool) -> Iterator[tuple[str, str]]:
    """All ways to split a path into its first key and the rest, since a key may have dots.

    `plain`: whether no key has a dot, so that only the first way counts.
    """
    head = path[0] if path[0] in ".[" else ""
    ends = re.finditer(r"\](?=[.\[]|\Z)" if head == "[" else r"(?=[.\[])|\Z", path[len(head) :])
    for _, end in zip(range(1 if plain else _MAX_SPLITS), ends, strict=False):
        if end.start() or head == "[":
            yield path[len(head) : len(head) + end.start()], path[len(head) + end.end() :]


def skip(value: PathStep, steps: Iterator[PathStep]) -> None:
    depth = 1 if value.kind in (StepKind.MAPPING, StepKind.LIST) else 0
    while depth and (step := next(steps, None)) is not None:
        depth += 1 if step.kind in (StepKind.MAPPING, StepKind.LIST) else -1 if step.kind is StepKind.CLOSE else 0


@dataclass(frozen=True, slots=True)
class Region:
    """The part of a text that is a manifest.

    `within`: the path of the manifest in the span, if the span is a list of manifests.
    """

    outline: Outline
    lines: TextLines
    span: TextSpan
    within: str = ""

    @classmethod
    def of(cls, text: str, steps: Steps, span: TextSpan, lines: TextLines) -> Region:
        """The region of a whole document."""
        return cls(Outline(text, steps, span.start, span.end, Outline(text, steps, *span.document)), lines, span)

    def locate(self, field: str) -> Position:
        """The position of a field, or of its nearest ancestor if it is absent. "" means the start of the manifest."""
        path = self.within + (f".{field}" if self.within and field[:1] not in ("", "[") else field)
        found = self.outline.find(path) if path else None
        return self.lines.position(self.span.start if found is None else found)

    def inside(self, span: TextSpan) -> Region:
        """The region of a value in this region."""
        whole = self.outline
        return Region(Outline(whole.text, whole.steps, span.start, span.end, whole.document), self.lines, span)
