"""YAML as nodes: what is written in a text, how it is written, and where. Nothing here imports the YAML library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from policies.text.yaml_scalars import resolve


@dataclass(frozen=True, slots=True)
class Scalar:
    """`plain`: neither quoted nor a block nor tagged, so that its text says its type."""

    text: str
    plain: bool
    line: int
    offset: int = 0

    @property
    def value(self) -> Any:
        """What the text means: a boolean, a number, None, or a text."""
        return resolve(self.text) if self.plain else self.text


@dataclass(frozen=True, slots=True)
class SequenceNode:
    items: tuple[Node, ...]
    line: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Mapping:
    """The keys in their order; a key that occurs twice is here twice."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    offset: int = 0


Node: TypeAlias = "Scalar | SequenceNode | Mapping"
