"""Writes objects with parts that Helm fills in as the text of a template."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

WIDTH = 120


@dataclass(frozen=True)
class Code:
    """A template expression in the place of a scalar, such as `{{ .Values.webhook.replicas }}`."""

    text: str


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a template, as a key of a mapping (its value is ignored) or as an item of a list.

    `nindent N` in the text is relative to the indentation of these lines.
    """

    text: str


@dataclass(frozen=True, eq=False)
class When:
    """Entries of a mapping or items of a list that are rendered under a condition. `otherwise`: used if it is false."""

    condition: str
    body: Any
    otherwise: Any = None


def replace_key(node: dict[Any, Any], key: str, entry: Chunk | When) -> None:
    """Replace the key by the entry, in the same place."""
    entries = list(node.items())
    node.clear()
    for name, value in entries:
        node.update({entry: None} if name == key else {name: value})


def written(node: Any) -> str:
    """The template of one object. Raises ValueError if a text of it contains a template expression."""
    return "".join(f"{line}\n" for line in _lines(node, 0))


def _lines(node: Any, indent: int) -> Iterator[str]:
    entries = node.items() if isinstance(node, dict) else ((item, None) for item in node)
    for entry, value in entries:
        if isinstance(entry, Chunk):
            yield from _chunk(entry.text, indent)
        elif isinstance(entry, When):
            yield from _when(entry, indent)
        elif isinstance(node, dict):
            yield from _entry(f"{' ' * indent}{_scalar(entry)}:", value, indent)
        else:
            yield from _item(entry, indent)


def _chunk(text: str, indent: int) -> Iterator[str]:
    moved = re.sub(r"nindent (\d+)", lambda found: f"nindent {int(found[1]) + indent}", text)
    yield from (" " * indent + line for line in moved.splitlines())


def _when(choice: When, indent: int) -> Iterator[str]:
    yield f"{' ' * indent}{{{{- if {choice.condition} }}}}"
    yield from _lines(choice.body, indent)
    if choice.otherwise is not None:
        yield f"{' ' * indent}{{{{- else }}}}"
        yield from _lines(choice.otherwise, indent)
    yield f"{' ' * indent}{{{{- end }}}}"


def _entry(start: str, value: Any, indent: int) -> Iterator[str]:
    if isinstance(value, list) and (short := _flow(value)) and len(start) + len(short) < WIDTH:
        yield f"{start} {short}"
    elif isinstance(value, dict | list) and value:
        yield start
        yield from _lines(value, indent + 2)
    elif isinstance(value, str) and len(start) + len(value) > WIDTH:
        yield f"{start} >-"
        yield from _folded(value, indent + 2)
    else:
        yield f"{start} {_scalar(value)}"


def _flow(items: list[Any]) -> str:
    """The list on one line; empty if it contains more than scalars."""
    return _scalar(items) if all(isinstance(item, str | int) for item in items) else ""


def _item(item: Any, indent: int) -> Iterator[str]:
    if not isinstance(item, dict | list):
        yield f"{' ' * indent}- {_scalar(item)}"
        return
    for number, line in enumerate(_lines(item, indent + 2)):
        yield line if number else f"{' ' * indent}- {line.lstrip()}"


def _folded(text: str, indent: int) -> Iterator[str]:
    lines = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
    if " ".join(lines) != text or "{{" in text:
        raise ValueError(f"cannot be folded: {text}")
    yield from (" " * indent + line for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, Code):
        return value.text
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True)
    if "{{" in text:
        raise ValueError(f"Helm would take it for a template: {text}")
    return text.removesuffix("...\n").strip()
