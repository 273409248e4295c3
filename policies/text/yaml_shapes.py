"""Reads documents of the same shape faster: only the first one is parsed. Documents have the same shape if they differ
only in words at the ends of lines.

A word is a value of letters, digits and `.`, `_`, `/`, `-`, with or without quotes, after `: ` or `- `. These
characters have no special meaning for YAML inside a value. So a document with other words is the same, except for the
values in these places. To make sure that each word is a whole value, and not a part of a longer text or of a key, the
document is parsed with a placeholder for each word. Each placeholder in the result must be a whole value. A placeholder
that is not in the result is in a comment or was overridden by a merge, and the same holds for any other word in its
place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from policies.text.positions import DocumentRoot, TextSpan
from policies.text.yaml_scalars import resolve

_WORD = re.compile(r"""(?<=[:-] )(['"]?)([A-Za-z0-9][A-Za-z0-9._/-]*)\1$""", re.MULTILINE)
_SHAPES = 512
"""The most shapes that are kept. An organisation has about ten for each kind."""
_PLACEHOLDER = "quotree-mark-"


class KnownShape(NamedTuple):
    """The content of a document. `copies`: how many values its aliases repeat."""

    roots: list[DocumentRoot]
    copies: int


Reader: TypeAlias = Callable[[str], KnownShape | None]
"""Reads one document. Returns None if the document has a fault."""


class _Word(int):
    """A place in a template where a value belongs. The number is the index of the word."""


class _Place(NamedTuple):
    """An offset in a template: the number of words before it, and the number of other characters before it."""

    words: int
    others: int

    def offset(self, words: list[str]) -> int:
        return self.others + sum(map(len, words[: self.words]))


class _Template(NamedTuple):
    """A document with places instead of words.

    `bare`: the indexes of words without quotes, which may be numbers or booleans.
    `copies`: see KnownShape.
    """

    value: dict[str, Any]
    bare: list[int]
    start: _Place
    end: _Place
    copies: int

    def filled(self, words: list[str], length: int) -> KnownShape:
        span = TextSpan(self.start.offset(words), self.end.offset(words), (0, length))
        values: list[Any] = words.copy()
        for number in self.bare:
            values[number] = resolve(words[number])
        return KnownShape([DocumentRoot(_filled(self.value, values), span, [])], self.copies)


def read(text: str, reader: Reader) -> KnownShape | None:
    """The same as `reader` returns for the text, but faster if the shape is known."""
    pieces = _WORD.split(text)
    words = pieces[2::3]
    del pieces[2::3]
    shape = _shape(tuple(pieces))
    if not shape.seen:  # many shapes occur only once, and to make a template takes as long as to parse a document
        shape.seen = True
        return reader(text)
    template = shape.template(reader)
    return template.filled(words, len(text)) if template else reader(text)


class _Shape:
    """A shape. `pieces`: the text around the words, alternating with the quote of each word."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        self.seen = False
        self._pieces = pieces
        self._made = False
        self._template: _Template | None = None

    def template(self, reader: Reader) -> _Template | None:
        if not self._made:
            self._made = True
            self._template = _template(self._pieces, reader)
        return self._template


_shape = lru_cache(maxsize=_SHAPES)(_Shape)


def _template(pieces: tuple[str, ...], reader: Reader) -> _Template | None:
    around, quotes = pieces[0::2], pieces[1::2]
    if any("%" in each or _PLACEHOLDER in each for each in around):
        return None  # a directive may change the meaning of tags
    placeholders = [f"{_PLACEHOLDER}{number:04}" for number in range(len(quotes))]
    text = around[0] + "".join(
        f"{quote}{name}{quote}{after}" for quote, name, after in zip(quotes, placeholders, around[1:], strict=True)
    )
    known = reader(text)
    if known is None or len(known.roots) != 1 or known.roots[0].items or not isinstance(known.roots[0].value, dict):
        return None
    (root,) = known.roots
    try:
        value = _with_places(root.value, {name: _Word(number) for number, name in enumerate(placeholders)})
    except _NotAValue:
        return None
    bare = [number for number, quote in enumerate(quotes) if not quote]
    start, end = (_place(text, offset, placeholders) for offset in (root.span.start, root.span.end))
    return _Template(value, bare, start, end, known.copies)


class _NotAValue(Exception):
    """A placeholder is only a part of a text, or is a part of a key."""


def _with_places(value: Any, places: dict[str, _Word]) -> Any:
    """The value with places instead of placeholders. Raises _NotAValue."""
    if isinstance(value, dict):
        if any(_PLACEHOLDER in key for key in value):
            raise _NotAValue
        return {key: _with_places(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_places(item, places) for item in value]
    if isinstance(value, str) and _PLACEHOLDER in value:
        if value not in places:
            raise _NotAValue
        return places[value]
    return value


def _place(text: str, offset: int, placeholders: list[str]) -> _Place:
    before = [name for name in placeholders if text.index(name) < offset]
    return _Place(len(before), offset - sum(map(len, before)))


def _filled(value: Any, values: list[Any]) -> Any:
    """A copy of the value with `values` in the places."""
    kind = value.__class__
    if kind is _Word:
        return values[value]
    if kind is dict:
        return {key: values[item] if item.__class__ is _Word else _filled(item, values) for key, item in value.items()}
    return [_filled(item, values) for item in value] if kind is list else value
