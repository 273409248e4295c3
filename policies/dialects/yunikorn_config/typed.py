"""Reads YAML nodes as strings, numbers, lists and mappings, as Go's strict decoder does. Collects all faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from policies.dialects.yunikorn_config.model import Problem, Text
from policies.model import fields
from policies.model.suggestion import certain, choice, close, suggest
from policies.text.positions import BadText
from policies.text.yaml_nodes import Mapping, Node, Scalar, SequenceNode
from policies.text.yaml_scalars import NO_NUMBER, resolve

T = TypeVar("T")

MAX_NODES = 200_000
"""The most values that are read. The values of an alias count each time it is used."""

_WITH_SUGGESTION = 100
"""The most faults of a text for which the word that is meant is looked up. A ConfigMap has room for 40 000 faults,
and to look them all up takes seconds. A tenant can create a ConfigMap of this name in their own namespace."""
_UINT64_MAX = 2**64 - 1
_BOOLEANS = {"true": True, "false": False}
_DIGITS = re.compile(r"0|[1-9][0-9]{0,17}").fullmatch


class Faults:
    """The faults that were found, and the number of values that were read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._left = MAX_NODES

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)

    @property
    def are_few(self) -> bool:
        """Whether the word that is meant should be looked up for one more fault."""
        return len(self.problems) < _WITH_SUGGESTION

    @property
    def visited(self) -> int:
        return MAX_NODES - self._left

    def visit(self, node: Node) -> None:
        """Count one value. Raises BadText if aliases repeat too many."""
        self._left -= 1
        if self._left < 0:
            raise BadText(node.offset, f"more than {MAX_NODES} values, counting what aliases repeat")


class Fields:
    """The keys of one mapping, each read once. `done` reports the keys that were not read."""

    def __init__(self, node: Node | None, at: str, faults: Faults):
        self.at = at
        self.line = node.line if node is not None else 0
        self._faults = faults
        self._values: dict[str, tuple[Scalar, Node]] = {}
        self._known: list[str] = []
        if isinstance(node, Mapping):
            self._fill(node)
        elif node is not None and not is_null(node):
            _wrong(node, at, "a mapping", "write `key: value` lines", faults)

    def _fill(self, node: Mapping) -> None:
        self._faults.visit(node)
        seen: dict[str, int] = {}
        for key, value in node.entries:
            if key.text in seen:
                message = f"the key {key.text!r} occurs twice, first in line {seen[key.text]}"
                self._faults.add(Problem(self.path(key.text), key.line, message, "keep one of the two"))
            seen[key.text] = key.line
            if key.plain and key.text == "<<":
                self._merge(value)
                continue
            self._values[key.text] = (key, value)

    def _merge(self, value: Node) -> None:
        """Add the keys that `<<` merges in. Keys of the mapping itself replace them."""
        for source in value.items if isinstance(value, SequenceNode) else (value,):
            if not isinstance(source, Mapping):
                message = "`<<` takes a mapping or a list of mappings"
                self._faults.add(Problem(self.at, value.line, message, "write `<<: *name` for an anchor &name"))
                continue
            self._faults.visit(source)
            for key, inner in source.entries:
                if key.plain and key.text == "<<":
                    self._merge(inner)
                    continue
                self._values.setdefault(key.text, (key, inner))

    def path(self, key: str) -> str:
        return fields.join(self.at, key)

    def node(self, key: str) -> Node | None:
        self._known.append(key)
        found = self._values.get(key)
        return None if found is None or is_null(found[1]) else found[1]

    def text(self, key: str) -> Text:
        node = self.node(key)
        if node is None:
            return Text()
        return text(node, self.path(key), self._faults)

    def flag(self, key: str, *, absent: bool = False) -> bool:
        node = self.node(key)
        if node is None:
            return absent
        if isinstance(node, Scalar):
            # Go's decoder reads a yes or no in quotes as a boolean, but not a true or false.
            found = node.value if node.text.lower() in _BOOLEANS else resolve(node.text)
            if isinstance(found, bool):
                return found
        written = node.text if isinstance(node, Scalar) and self._faults.are_few else ""
        fix, meant = choice(written, list(_BOOLEANS))
        if isinstance(node, Scalar) and node.text.lower() in _BOOLEANS:
            fix = f"write {meant}, without quotes"
        value = None if meant is None else _BOOLEANS[meant]
        _wrong(node, self.path(key), "true or false", fix, self._faults, value)
        return absent

    def count(self, key: str) -> int:
        """A whole number from 0 up to 64 bits; 0 if it is absent."""
        node = self.node(key)
        if node is None:
            return 0
        number = _number(node.value) if isinstance(node, Scalar) else None
        if number is None or not 0 <= number <= _UINT64_MAX:
            meant = int(node.text) if isinstance(node, Scalar) and _DIGITS(node.text) else None
            fix = f"write {meant}, without quotes" if meant is not None else "write digits, such as 5, without quotes"
            _wrong(node, self.path(key), "a whole number of 0 or more", fix, self._faults, meant)
            return 0
        return int(number)

    def inner(self, key: str) -> Fields | None:
        node = self.node(key)
        return None if node is None else Fields(node, self.path(key), self._faults)

    def texts(self, key: str) -> tuple[Text, ...]:
        return self.listed(key, lambda node, at: text(node, at, self._faults)) or ()

    def listed(self, key: str, make: Callable[[Node, str], T]) -> tuple[T, ...] | None:
        """The entries of a list. Go's decoder drops null entries."""
        node = self.node(key)
        if node is None:
            return None
        at = self.path(key)
        if not isinstance(node, SequenceNode):
            _wrong(node, at, "a list", "write the entries below it, each behind `- `", self._faults)
            return ()
        self._faults.visit(node)
        return tuple(make(item, f"{at}[{number}]") for number, item in enumerate(node.items) if not is_null(item))

    def every(self) -> Iterable[tuple[str, Text]]:
        """All keys with their texts, for a mapping whose keys are free. A null is an empty text."""
        for key, (scalar, node) in self._values.items():
            self._known.append(key)
            if is_null(node):
                yield key, Text("", self.path(key), scalar.line)
            else:
                yield key, text(node, self.path(key), self._faults)

    def numbers(self) -> Iterable[tuple[str, tuple[Text, float]]]:
        """All keys with their numbers, for a mapping whose keys are free. A null is 0. Go refuses numbers in quotes."""
        for key, (_, node) in self._values.items():
            self._known.append(key)
            self._faults.visit(node)
            number: int | Decimal | float | None = _number(node.value) if isinstance(node, Scalar) else None
            if isinstance(node, Scalar) and node.value is NO_NUMBER:
                number = float(node.text.replace(".", ""))  # .inf and .nan are numbers to Go
            if number is None and not is_null(node):
                fix = "write a number, such as 1.0, without quotes"
                _wrong(node, self.path(key), "a number", fix, self._faults)
            written = Text(node.text if isinstance(node, Scalar) else "", self.path(key), node.line)
            yield key, (written, float(number or 0))

    def done(self) -> None:
        for key, (scalar, _) in self._values.items():
            if key in self._known:
                continue
            problem = Problem(self.path(key), scalar.line, f"the key {key!r} is unknown here", "remove it")
            self._faults.add(self._suggested(problem, key) if self._faults.are_few else problem)

    def _suggested(self, problem: Problem, key: str) -> Problem:
        near, meant = close(key.lower(), self._known), certain(key, self._known)
        return replace(
            problem,
            fix=suggest(key.lower(), self._known),
            concerns=(self.path(near),) if near else (),
            rename=meant if meant not in self._values else "",
        )


def text(node: Node, at: str, faults: Faults) -> Text:
    """The text of a scalar, also of a number or boolean. A null is an empty text."""
    faults.visit(node)
    if isinstance(node, Scalar):
        return Text("" if node.value is None else node.text, at, node.line)
    _wrong(node, at, "a text", "write a single value", faults)
    return Text("", at, node.line)


def _number(value: Any) -> int | Decimal | None:
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _wrong(node: Node, at: str, expected: str, fix: str, faults: Faults, meant: int | None = None) -> None:
    if isinstance(node, Scalar):
        shown = node.text if len(node.text) <= 60 else node.text[:57] + "..."
        found = repr(shown) if node.plain else f"the text {shown!r}"
    else:
        found = "a mapping" if isinstance(node, Mapping) else "a list"
    faults.add(Problem(at, node.line, f"{expected} is expected, not {found}", fix, write=meant))
