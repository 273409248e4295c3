"""The first document of a YAML text as plain nodes with their lines. The only module of the domain that knows YAML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

MAX_DEPTH = 200
"""Levels of nesting; a queue takes two of them. Nobody writes that, and Python's own stack bears it."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """`plain`: neither quoted nor a block nor tagged, so that its text says its type."""

    text: str
    plain: bool
    line: int

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class Listing:
    items: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Mapping:
    """The keys in their order, as often as they stand there."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int


Node: TypeAlias = "Scalar | Listing | Mapping"


class BadYaml(ValueError):
    """What is no YAML, or more than is read here; `line` counts from 1."""

    def __init__(self, line: int, message: str):
        super().__init__(message)
        self.line = line


def first_document(text: str) -> Node | None:
    """The first document of the text, None where there is none; what follows it is not looked at, as in YuniKorn.

    An alias is the very node that it stands for, so that many of them cost nothing here. Raises BadYaml.
    """
    import yaml  # here, since only those pay for it who have such a text

    try:
        return _Composer(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadYaml(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise BadYaml(1, f"not YAML: {error}".splitlines()[0]) from None
    except UnicodeError:
        raise BadYaml(1, "not YAML: half of a surrogate pair is no character") from None


class _Composer:
    """Events are told apart by the names of their classes; the classes would have to be imported with this module."""

    def __init__(self, text: str):
        import yaml.cyaml

        self._next: Any = yaml.cyaml.CParser(text).get_event  # type: ignore[attr-defined]
        self._anchors: dict[str, Node | None] = {}

    def document(self) -> Node | None:
        while (kind := _kind(self._next())) != "DocumentStartEvent":
            if kind == "StreamEndEvent":
                return None
        return self._node(self._next(), 0)

    def _node(self, event: Any, depth: int) -> Node:
        kind, line = _kind(event), event.start_mark.line + 1
        if kind == "AliasEvent":
            return self._alias(event.anchor, line)
        if depth > MAX_DEPTH:
            raise BadYaml(line, f"nested deeper than {MAX_DEPTH} levels")
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        node: Node
        if kind == "ScalarEvent":
            node = Scalar(event.value, event.implicit[0] and event.tag is None, line)
        elif kind == "MappingStartEvent":
            node = self._mapping(line, depth)
        else:
            node = self._listing(line, depth)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            raise BadYaml(line, f"no anchor &{anchor} stands before this alias")
        node = self._anchors[anchor]
        if node is None:
            raise BadYaml(line, f"the anchor &{anchor} contains itself")
        return node

    def _mapping(self, line: int, depth: int) -> Mapping:
        entries: list[tuple[Scalar, Node]] = []
        while _kind(event := self._next()) != "MappingEndEvent":
            key = self._node(event, depth + 1)
            if not isinstance(key, Scalar):
                raise BadYaml(key.line, "a key must be a text")
            entries.append((key, self._node(self._next(), depth + 1)))
        return Mapping(tuple(entries), line)

    def _listing(self, line: int, depth: int) -> Listing:
        items: list[Node] = []
        while _kind(event := self._next()) != "SequenceEndEvent":
            items.append(self._node(event, depth + 1))
        return Listing(tuple(items), line)


def _kind(event: object) -> str:
    return event.__class__.__name__
