"""Reads YAML as Kubernetes does: values, spans and steps.

Values are built directly from the events of PyYAML's C parser; `yaml_scalars` computes the values of scalars. Keys are
strings: 1: and on: become "1" and "true". As in kubectl, `<<` overrides the keys above it, and the keys below override
it. Stricter than kubectl: a duplicate key is an error, and so is a tag that is not in YAML's core.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from policies.text import yaml_shapes
from policies.text.places import PathStep, StepKind
from policies.text.positions import MAX_DEPTH, TOO_DEEP, BadText, DocumentRoot, TextSpan
from policies.text.yaml_events import (
    AliasEvent,
    Composer,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    YAMLError,
    events,
    syntax_error,
)
from policies.text.yaml_scalars import NO_NUMBER, resolve, resolve_tagged, short_tag
from policies.text.yaml_shapes import KnownShape

MAX_COPIED = 300_000
"""The most values of one file that aliases may repeat: more than in any real file, and about 70 MiB of memory."""

_SHORT = 64
"""The most characters of a key that is cached."""
_SHORT_DOCUMENT = 4096
"""The most characters of a document that is cached. A queue has about 600."""
_SEPARATOR = re.compile(r"^---(?![^ \t\r\n])", re.MULTILINE)
_EMPTY_LINES = r"(?:[ \t]*+(?:#[^\n]*+)?+\r?\n)*+"  # possessive, so backtracking takes no memory, however many lines
_DIRECTIVES = re.compile(_EMPTY_LINES + "%").match
_NOTHING = re.compile(r"(?:---)?+" + _EMPTY_LINES + r"[ \t]*+(?:#[^\n]*+)?+\Z").match


def read(text: str, most: int = MAX_COPIED) -> Iterator[DocumentRoot | BadText]:
    """Read all documents of the text that are not empty. A document with a fault gives a BadText.

    Other documents are still read: lines that start with `---` separate documents, and no value can contain such a
    line. Aliases may repeat up to `most` values.
    """
    copies = _Copies(most)
    for start, end in _documents(text):
        yield from _roots(text, start, end, copies)


def read_shared(text: str) -> Iterator[DocumentRoot | BadText]:
    """Read all documents, for callers that do not change the values: documents with equal text share one value.

    This saves time if two states of the same files are read, such as a branch and its base.
    """
    copies = _Copies(MAX_COPIED)
    for start, end in _documents(text):
        known = _known(text[start:end]) if end - start <= _SHORT_DOCUMENT else None
        if known is None or not copies.more(known.copies):
            yield from _roots(text, start, end, copies)
        else:
            yield from (_moved(root, start) for root in known.roots)


@lru_cache(maxsize=2**14)  # enough for a large organisation, and at most about 100 MiB
def _known(text: str) -> KnownShape | None:
    return yaml_shapes.read(text, _alone)


def _alone(text: str) -> KnownShape | None:
    """Read a single document. None if it has errors, since messages need positions in the whole text."""
    copies = _Copies(MAX_COPIED)
    found = list(_roots(text, 0, len(text), copies))
    roots = [each for each in found if isinstance(each, DocumentRoot)]
    return KnownShape(roots, copies.made) if len(roots) == len(found) else None


def _moved(root: DocumentRoot, by: int) -> DocumentRoot:
    """The value with spans for a text in which it begins `by` characters later."""

    def moved(span: TextSpan) -> TextSpan:
        start, end = span.document
        return TextSpan(span.start + by, span.end + by, (start + by, end + by))

    return DocumentRoot(root.value, moved(root.span), [moved(span) for span in root.items])


def _roots(text: str, start: int, end: int, copies: _Copies) -> Iterator[DocumentRoot | BadText]:
    """The values of one document. If `...` ends a value, there can be several."""
    if _NOTHING(text, start, end):
        return  # empty; the parser would also find nothing, but take longer
    builder = _Builder(text, start, end, copies)
    try:
        yield from builder.roots()
    except BadText as bad:
        yield bad
    except YAMLError as error:
        yield syntax_error(error, text, start, end)


def single(text: str, most: int = MAX_COPIED) -> Any:
    """The value of a text with exactly one document. Raises BadText for any other text."""
    roots = list(islice(read(text, most), 2))
    if not roots:
        raise BadText(0, "it is empty")
    if isinstance(roots[0], BadText):
        raise roots[0]
    if len(roots) > 1:
        second = roots[1]
        raise BadText(second.offset if isinstance(second, BadText) else second.span.start, "a second document")
    return roots[0].value


def steps(text: str, start: int, end: int) -> Iterator[PathStep]:
    """The steps of the value at [start, end). Blanks replace the text before it in its line."""
    column = start - (text.rfind("\n", 0, start) + 1)
    shift = start - column
    following = events(" " * column + text[start:end])
    try:
        while not isinstance(event := following(), StreamEndEvent):
            step = _step(event, shift)
            if step is not None:
                yield step
    except YAMLError:
        return  # the fault was reported before; the steps before it are still useful


def _step(event: Any, shift: int) -> PathStep | None:
    offset = event.start_mark.index + shift
    match event:
        case ScalarEvent():
            return PathStep(StepKind.SCALAR, offset, _key_text(event), event.anchor)
        case MappingStartEvent():
            return PathStep(StepKind.MAPPING, offset, "", event.anchor)
        case SequenceStartEvent():
            return PathStep(StepKind.LIST, offset, "", event.anchor)
        case MappingEndEvent() | SequenceEndEvent():
            return PathStep(StepKind.CLOSE, offset)
        case AliasEvent():
            return PathStep(StepKind.ALIAS, offset, event.anchor or "")
    return None


def _documents(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for separator in _SEPARATOR.finditer(text):
        if separator.start() > start and not _DIRECTIVES(text, start):
            yield start, separator.start()
            start = separator.start()
    yield start, len(text)


class _Copies:
    """Counts the values that the aliases of a file have repeated."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made = 0

    def more(self, number: int) -> bool:
        """Count more values. Returns False, and counts nothing, if they exceed the limit."""
        if self.made + number > self.most:
            return False
        self.made += number
        return True


class _Builder(Composer[Any]):
    """Builds the values of a part of the text: one document, or several if `...` ends them."""

    def __init__(self, text: str, start: int, end: int, copies: _Copies):
        super().__init__(text, start, end)
        self._copies = copies
        self._span = (start, end)
        self._end = 0
        self._items: list[TextSpan] = []

    def roots(self) -> Iterator[DocumentRoot]:
        while (event := self._next()).__class__ is not StreamEndEvent:
            if event.__class__ is DocumentStartEvent:
                self._anchors, self._items = {}, []
                first = self._next()
                value = self._node(first, 0)
                if value is not None:
                    yield DocumentRoot(value, self._since(first), self._items)

    def _since(self, event: Any) -> TextSpan:
        return TextSpan(self._offset(event), max(self._end, event.end_mark.index) + self._start, self._span)

    def _collection(self, event: Any, depth: int) -> Any:
        is_mapping = event.__class__ is MappingStartEvent
        if depth >= MAX_DEPTH:
            raise BadText(self._offset(event), TOO_DEEP, accepted=True)
        if event.tag is not None and short_tag(event.tag) not in ("!", "!!map" if is_mapping else "!!seq"):
            message = f"the tag {short_tag(event.tag)} has no meaning in a manifest; remove it"
            raise BadText(self._offset(event), message, accepted=True)
        return self._mapping(depth) if is_mapping else self._list(depth, None)

    def _mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: set[str] = set()
        following = self._next
        while (event := following()).__class__ is not MappingEndEvent:
            if event.__class__ is ScalarEvent and event.value == "<<" and event.implicit[0]:
                inherited = self._merged(following(), depth)
                result |= inherited
                merged |= inherited.keys()
                continue
            key = self._key(event)
            if key in result:
                if key not in merged:
                    raise BadText(self._offset(event), f"the key {key!r} occurs twice in this mapping", accepted=True)
                merged.discard(key)
            value = following()
            if depth == 0 and key == "items" and value.__class__ is SequenceStartEvent and value.anchor is None:
                result[key] = self._list(depth + 1, self._items)
            elif value.__class__ is ScalarEvent and value.anchor is None:  # as nearly all values are
                result[key] = self._scalar(value)
            else:
                result[key] = self._node(value, depth + 1)
        self._end = _end(event)
        return result

    def _list(self, depth: int, spans: list[TextSpan] | None) -> list[Any]:
        result = []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            result.append(self._node(event, depth + 1))
            if spans is not None:
                spans.append(self._since(event))
        self._end = _end(event)
        return result

    def _key(self, event: Any) -> str:
        if event.__class__ is not ScalarEvent:
            raise BadText(self._offset(event), "a key must be a string")
        if event.tag is None and len(event.value) <= _SHORT and (key := _usual_key(event.value, event.implicit[0])):
            return key
        value = self._scalar(event)
        if value is None:
            raise BadText(self._offset(event), "a key must be a string, this one is null")
        return sys.intern(value if isinstance(value, str) else _key_text(event))

    def _merged(self, event: Any, depth: int) -> dict[str, Any]:
        value = self._node(event, depth + 1)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise BadText(self._offset(event), "`<<` takes a mapping or a list of mappings")
        result: dict[str, Any] = {}
        for source in reversed(sources):  # earlier sources override later ones
            result |= source
        return result

    def _repeated(self, value: Any, alias: Any, depth: int) -> Any:
        self._end = _end(alias)
        return self._copy(value, depth, alias)

    def _copy(self, value: Any, depth: int, alias: Any) -> Any:
        """A separate copy for each alias, so that no two fields share an object."""
        if not self._copies.more(1):
            message = f"the aliases of this file repeat more than {self._copies.most} values"
            raise BadText(self._offset(alias), message, accepted=True)
        if not isinstance(value, dict | list):
            return value
        if depth >= MAX_DEPTH:
            raise BadText(self._offset(alias), TOO_DEEP, accepted=True)
        if isinstance(value, dict):
            return {key: self._copy(item, depth + 1, alias) for key, item in value.items()}
        return [self._copy(item, depth + 1, alias) for item in value]

    def _scalar(self, event: Any) -> Any:
        text = event.value
        if event.tag is None:
            if not event.implicit[0]:
                return text
            value = resolve(text)
        else:
            try:
                value = resolve_tagged(short_tag(event.tag), text)
            except ValueError as misused:
                raise BadText(self._offset(event), str(misused), accepted=True) from None
        if value is NO_NUMBER:
            raise BadText(self._offset(event), f"{text} is not a number in JSON")
        return value


@lru_cache(maxsize=4096)  # manifests repeat the same keys
def _usual_key(text: str, plain: bool) -> str | None:
    """The key if it is a string and not empty, else None."""
    value = resolve(text) if plain else text
    return sys.intern(value) if isinstance(value, str) and value else None


def _key_text(event: Any) -> str:
    """The text of a key. Booleans and integers are written as in JSON."""
    text = str(event.value)
    value = resolve(text) if event.implicit[0] and event.tag is None else text
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else text


def _end(event: Any) -> int:
    """The offset after the event. The C parser always sets it."""
    index: int = event.end_mark.index
    return index
