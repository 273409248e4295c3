"""YAML as nodes: each value with its form and its position in the text. It does not import the YAML library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from policies.text.yaml_scalars import resolve


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar.

    `plain`: whether its text decides the type: it has no quotes, no tag and is not a block, or its tag is of that type.
    """

    text: str
    plain: bool
    line: int
    offset: int = 0

    @property
    def value(self) -> Any:
        """The value: a boolean, a number, None, or a text."""
        return resolve(self.text) if self.plain else self.text


@dataclass(frozen=True, slots=True)
class SequenceNode:
    items: tuple[Node, ...]
    line: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping. `entries`: in the order of the text. A duplicate key has two entries."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    offset: int = 0


Node: TypeAlias = "Scalar | SequenceNode | Mapping"
