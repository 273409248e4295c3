"""Applies JSON Patch operations to a YAML or JSON text without changing the rest of the text.

It supports the usual layouts, and may be wrong for others. The caller parses the result again, and compares it with the
patched value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from policies.model.fields import unpointed
from policies.text.positions import BadText
from policies.text.yaml_layout import Layout, layout
from policies.text.yaml_scalars import resolve


class NoEdit(Exception):
    """The operation cannot be applied to the layout of this text. The message says why."""


def edited(
    text: str, start: int, end: int, operations: Iterable[Mapping[str, Any]], within: tuple[str, ...] = ()
) -> str:
    """Apply the operations to the value at [start, end), and return the whole text. Raises NoEdit.

    `within`: the path of the manifest in the value; the paths of the operations start there.
    """
    for operation in operations:
        before = len(text)
        text = _Edit(text, start, end).of(operation, within)
        end += len(text) - before
    return text


class _Edit:
    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        try:
            self._top = layout(text, start, end)
        except BadText as bad:
            raise NoEdit(bad.message) from None

    def of(self, operation: Mapping[str, Any], within: tuple[str, ...]) -> str:
        *way, last = (*within, *unpointed(operation["path"]))
        holder = self._holder(way)
        if operation["op"] == "move":
            *old_way, old = (*within, *unpointed(operation["from"]))
            if old_way != way:
                raise NoEdit("the move leads to another place")
            if holder.shape == "list":
                return self._moved(holder, int(old), int(last))
            return self._renamed(holder, old, last)
        at = _place(holder, last)
        if holder.shape != "mapping":
            if operation["op"] != "replace" or at is None:
                raise NoEdit("nothing is added to a list or removed from it here")
            return self._replaced(holder.items[at], operation["value"])
        if operation["op"] == "remove":
            return self._removed(holder, at)
        if at is None:
            return self._added(holder, last, operation["value"])
        return self._replaced(holder.items[at], operation["value"])

    def _holder(self, way: list[str]) -> Layout:
        laid = self._top
        for step in way:
            at = _place(laid, step)
            if at is None:
                raise NoEdit(f"{step} is not written here")
            laid = laid.items[at]
        if laid.anchored or laid.shape not in ("mapping", "list"):
            raise NoEdit("the place of the change is an anchor, an alias or empty")
        return laid

    def _replaced(self, old: Layout, value: Any) -> str:
        if old.style == "|" and not old.anchored and isinstance(value, str):
            return self._spliced(old.start, old.end, _block(self._text[old.start : old.end], old.text, value))
        if old.shape != "scalar" or old.anchored or old.style in ("|", ">") or isinstance(value, Mapping | list):
            raise NoEdit("only a plain or quoted value is replaced")
        if old.start == old.end:
            raise NoEdit("the value is empty")
        read = old.text if old.style else resolve(old.text)
        if isinstance(read, int) and isinstance(value, str) and value != old.text:
            raise NoEdit(f"{old.text} means {value} here; write what is meant in quotes")
        is_text = isinstance(read, str)  # in YAML, a text may have no quotes
        return self._spliced(old.start, old.end, _scalar(value, '"' if self._top.flow and not is_text else old.style))

    def _renamed(self, holder: Layout, old: str, new: str) -> str:
        at = _place(holder, old)
        if at is None:
            raise NoEdit(f"{old} is not written here")
        if _place(holder, new) is not None:
            raise NoEdit(f"{new} is set already")
        key = holder.keys[at]
        return self._spliced(key.start, key.end, _scalar(new, key.style))

    def _removed(self, holder: Layout, at: int | None) -> str:
        if at is None:
            raise NoEdit("the value to remove does not exist")
        key, value = holder.keys[at], holder.items[at]
        if len(holder.items) == 1:
            if holder.flow:
                return self._spliced(key.start, value.end, "")
            return self._spliced(holder.start, holder.end, "{}")
        if holder.flow:
            if at + 1 < len(holder.keys):
                return self._spliced(key.start, holder.keys[at + 1].start, "")
            return self._spliced(holder.items[at - 1].end, value.end, "")
        if self._first_in_line(key.start):
            return self._spliced(self._line_start(key.start), self._next_line(max(key.end, value.end)), "")
        between = self._text[max(key.end, value.end) : holder.keys[1].start]
        if "#" in between:
            raise NoEdit("a comment would be lost")
        return self._spliced(key.start, holder.keys[1].start, "")

    def _added(self, holder: Layout, name: str, value: Any) -> str:
        if holder.flow:
            return self._added_in_flow(holder, name, value)
        column = holder.start - self._line_start(holder.start)
        last = max(holder.keys[-1].end, holder.items[-1].end)
        at = self._next_line(last)
        lines = self._newline.join(_lines(name, value, " " * column))
        if at == len(self._text) and not self._text.endswith("\n"):
            return self._text + self._newline + lines
        return self._spliced(at, at, lines + self._newline)

    def _added_in_flow(self, holder: Layout, name: str, value: Any) -> str:
        style = holder.keys[-1].style if holder.keys else '"' if self._top.flow else ""
        is_plain = not style and not isinstance(value, Mapping | list)
        entry = f"{_scalar(name, style)}: {_scalar(value, style) if is_plain else _json(value)}"
        if not holder.items:
            return self._spliced(holder.start + 1, holder.start + 1, entry)
        last, at = holder.keys[-1], holder.items[-1].end
        indent = self._text[self._line_start(last.start) : last.start]
        gap = " " if indent.strip() else self._newline + indent
        return self._spliced(at, at, f",{gap}{entry}")

    def _moved(self, holder: Layout, old: int, new: int) -> str:
        parts = [(item.start, item.end) for item in holder.items] if holder.flow else self._line_parts(holder)
        texts = [self._text[start:end] for start, end in parts]
        open_end = not holder.flow and bool(texts) and not texts[-1].endswith("\n")
        if open_end:
            texts[-1] += self._newline
        texts.insert(new, texts.pop(old))
        if open_end:
            texts[-1] = texts[-1].removesuffix(self._newline)
        gaps = [self._text[end:start] for (_, end), (start, _) in pairwise(parts)] + [""]
        whole = "".join(text + gap for text, gap in zip(texts, gaps, strict=True))
        return self._spliced(parts[0][0], parts[-1][1], whole)

    def _line_parts(self, holder: Layout) -> list[tuple[int, int]]:
        """The lines of each item. A comment between two items belongs to the item below it."""
        ends = [self._next_line(item.end) for item in holder.items]
        first = self._line_start(holder.start)
        if not self._first_in_line(holder.start):
            raise NoEdit("the list begins in the middle of a line")
        return list(zip([first, *ends[:-1]], ends, strict=True))

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        """The start of the line after the end of the value. A block scalar ends with its last line break."""
        if at and self._text[at - 1] == "\n":
            return at
        found = self._text.find("\n", at)
        return len(self._text) if found < 0 else found + 1

    def _first_in_line(self, at: int) -> bool:
        return not self._text[self._line_start(at) : at].strip(" ")

    def _spliced(self, start: int, end: int, new: str) -> str:
        return self._text[:start] + new + self._text[end:]


def _block(block: str, old: str, new: str) -> str:
    """The literal block with another text. Only lines that differ are written. Raises NoEdit."""
    lines, olds, news = block.split("\n"), old.split("\n"), new.split("\n")
    if len(olds) != len(news):
        raise NoEdit("the text would have other lines")
    for at, (was, now) in enumerate(zip(olds, news, strict=True), 1):
        if was != now:  # the first line of the block is the `|`
            line, end = (lines[at][:-1], "\r") if lines[at].endswith("\r") else (lines[at], "")
            lines[at] = line.removesuffix(was) + now + end
    return "\n".join(lines)


def _place(laid: Layout, step: str) -> int | None:
    if laid.shape == "mapping":
        return next((at for at, key in enumerate(laid.keys) if key.shape == "scalar" and key.text == step), None)
    if laid.shape == "list" and step.isdigit() and int(step) < len(laid.items):
        return int(step)
    return None


def _scalar(value: Any, style: str) -> str:
    """The value as a scalar with the quotes of the old text, or none if the old one has none and it needs none."""
    if not isinstance(value, str) or style == '"':
        return _json(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    plain = value.isascii() and value.replace("-", "").replace(".", "").replace("/", "").isalnum()
    return value if plain and value[0] not in "-." and isinstance(resolve(value), str) else _quoted(value)


def _quoted(value: str) -> str:
    if '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return _json(value)


def _json(value: Any) -> str:
    """The value as JSON, which is also valid YAML, since unprintable characters are escaped."""
    text = json.dumps(value, ensure_ascii=False, default=float)
    return text if text.isprintable() else "".join(map(_character, text))


def _character(c: str) -> str:
    """The character, escaped if it is unprintable. Escapes of more than four digits differ between YAML and JSON, so
    such a character is not escaped."""
    return c if c.isprintable() or ord(c) > 0xFFFF else f"\\u{ord(c):04x}"


def _lines(name: str, value: Any, indent: str) -> list[str]:
    """The lines of a new entry in block style."""
    key = _scalar(name, "")
    if isinstance(value, Mapping) and value:
        inner = (line for each, item in value.items() for line in _lines(each, item, indent + "  "))
        return [f"{indent}{key}:", *inner]
    if isinstance(value, Mapping | list):
        return [f"{indent}{key}: {_json(value)}"]
    return [f"{indent}{key}: {_scalar(value, '')}"]
