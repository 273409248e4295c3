"""Reads the first document of a YAML text as nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

from policies.text.positions import BadText
from policies.text.yaml_events import (
    Composer,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    SequenceEndEvent,
    StreamEndEvent,
    YAMLError,
    syntax_error,
)
from policies.text.yaml_nodes import Mapping, Node, Scalar, SequenceNode
from policies.text.yaml_scalars import TYPED, resolve_tagged, short_tag

MAX_DEPTH = 200
"""The most levels of nesting, with those that aliases repeat. Each level of YuniKorn queues has two. No real file has
more, and Python's stack is large enough for them."""

_NEXT = "next"
"""A placeholder for the next entry, after an entry that is parsed alone."""


def first_document(text: str) -> Node | None:
    """The first document of the text, or None. As in YuniKorn, later documents are not read.

    An alias is the same object as its anchor, so it takes no memory. Raises BadText.
    """
    try:
        return _Nodes(text, 0, len(text)).document()
    except YAMLError as error:
        raise syntax_error(error, text, 0, len(text)) from None


class ListEntry(NamedTuple):
    """One entry of a list. `lines`: the number of its lines."""

    node: Node
    lines: int


def entry(text: str, line: int, depth: int) -> ListEntry | None:
    """Parse the text as a single, complete entry of a list in block style. None if it is not one.

    So the parser reads the text after a complete entry in the same way as without this entry. Raises BadText.
    `line`: the number of the first line; the text has whole lines.
    `depth`: how many mappings and lists contain the list.
    """
    dash = text.find("-")
    following = f"{' ' * dash}- {_NEXT}\n"
    if dash < 0 or text[:dash].strip(" ") or not text.endswith("\n"):
        return None
    try:
        found = _Nodes(text + following, 0, len(text + following), line, depth).document()
    except YAMLError as error:
        raise syntax_error(error, text + following, 0, len(text + following)) from None
    if not isinstance(found, SequenceNode) or len(found.items) != 2:
        return None
    node, after = found.items
    is_next = isinstance(after, Scalar) and after.plain and after.text == _NEXT
    return ListEntry(node, after.line - line) if is_next else None


class _Nodes(Composer[Node]):
    def __init__(self, text: str, start: int, end: int, line: int = 1, depth: int = 0) -> None:
        super().__init__(text, start, end)
        self._line = line
        self._depth = depth
        self._levels: dict[
            int, int
        ] = {}  # by id(), which is unique because all nodes live while their document is read

    def document(self) -> Node | None:
        while (event := self._next()).__class__ is not DocumentStartEvent:
            if event.__class__ is StreamEndEvent:
                return None
        return self._node(self._next(), self._depth)

    def _scalar(self, event: Any) -> Scalar:
        tag = "" if event.tag is None else short_tag(event.tag)
        if tag not in TYPED:
            return Scalar(event.value, event.implicit[0] and not tag, *self._place(event))
        try:
            resolve_tagged(tag, event.value)
        except ValueError as misused:
            raise BadText(self._offset(event), str(misused)) from None
        return Scalar(event.value, True, *self._place(event))

    def _collection(self, event: Any, depth: int) -> Node:
        self._bounded(depth + 1, event)
        place = self._place(event)
        if event.__class__ is MappingStartEvent:
            return Mapping(tuple(self._entries(depth)), *place)
        return SequenceNode(tuple(self._items(depth)), *place)

    def _repeated(self, value: Node, alias: Any, depth: int) -> Node:
        self._bounded(depth + self._levels_of(value), alias)
        return value

    def _bounded(self, levels: int, event: Any) -> None:
        if levels > MAX_DEPTH:
            raise BadText(self._offset(event), f"nested deeper than {MAX_DEPTH} levels")

    def _levels_of(self, node: Node) -> int:
        """The levels below a node. Computed once, and only if an alias repeats it: most documents have no alias."""
        if isinstance(node, Scalar):
            return 0
        if id(node) not in self._levels:
            inside = (value for _, value in node.entries) if isinstance(node, Mapping) else node.items
            self._levels[id(node)] = 1 + max(map(self._levels_of, inside), default=0)
        return self._levels[id(node)]

    def _entries(self, depth: int) -> list[tuple[Scalar, Node]]:
        entries: list[tuple[Scalar, Node]] = []
        while (event := self._next()).__class__ is not MappingEndEvent:
            key = self._node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise BadText(key.offset, "a key must be a string")
            entries.append((key, self._node(self._next(), depth + 1)))
        return entries

    def _items(self, depth: int) -> list[Node]:
        items: list[Node] = []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            items.append(self._node(event, depth + 1))
        return items

    def _place(self, event: Any) -> tuple[int, int]:
        return event.start_mark.line + self._line, self._offset(event)
