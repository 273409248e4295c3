"""Documents that differ only in words at the ends of their lines have one shape, which the parser reads once.

A word is a value of letters, digits and `.`, `_`, `/`, `-`, bare or in quotes, behind `: ` or `- `. None of these
characters means anything to YAML inside a value. So another word in its place makes the same document with another
value there. To be sure that each word is a whole value, and not a part of a longer text or of a key, the document is
parsed with a placeholder for each word. Each placeholder that the parser returns must be a whole value. One that it
does not return was in a comment or was overridden by a merge, and so would be any other word.
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
"""Shapes that are kept; an organisation has some ten for each kind, none longer than a short document."""
_PLACEHOLDER = "quotree-mark-"


class KnownShape(NamedTuple):
    """What a document holds, and how many values its aliases repeat."""

    roots: list[DocumentRoot]
    copies: int


Reader: TypeAlias = Callable[[str], KnownShape | None]
"""Reads one document; None where something is wrong with it."""


class _Word(int):
    """The place of a value in a template: the number of the word that belongs there."""


class _Place(NamedTuple):
    """An offset: the number of words before it, and the number of characters beside them."""

    words: int
    others: int

    def offset(self, words: list[str]) -> int:
        return self.others + sum(map(len, words[: self.words]))


class _Template(NamedTuple):
    """A document with words left out. `bare`: the words without quotes, which may be numbers or booleans."""

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
    """What `reader` would read of the text."""
    pieces = _WORD.split(text)
    words = pieces[2::3]
    del pieces[2::3]
    shape = _shape(tuple(pieces))
    if not shape.seen:  # most shapes of a folder may occur once, and a template costs a reading
        shape.seen = True
        return reader(text)
    template = shape.template(reader)
    return template.filled(words, len(text)) if template else reader(text)


class _Shape:
    """The text around the words: text, quote, text, quote ... text."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        self.seen = False
        self._pieces = pieces
        self._made = False
        self._template: _Template | None = None

    def template(self, reader: Reader) -> _Template | None:
        """The template of the document; None if a place is not that of a value."""
        if not self._made:
            self._made = True
            self._template = _template(self._pieces, reader)
        return self._template


_shape = lru_cache(maxsize=_SHAPES)(_Shape)


def _template(pieces: tuple[str, ...], reader: Reader) -> _Template | None:
    around, quotes = pieces[0::2], pieces[1::2]
    if any("%" in each or _PLACEHOLDER in each for each in around):
        return None  # a directive may give tags another meaning
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
    """A placeholder is only a part of a text, or is in a key."""


def _with_places(value: Any, places: dict[str, _Word]) -> Any:
    """The value with the places of words for their placeholders. Raises _NotAValue."""
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
    """A separate copy, with the values in their places."""
    kind = value.__class__
    if kind is _Word:
        return values[value]
    if kind is dict:
        return {key: values[item] if item.__class__ is _Word else _filled(item, values) for key, item in value.items()}
    return [_filled(item, values) for item in value] if kind is list else value
