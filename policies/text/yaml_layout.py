"""Finds the layout of a value in a YAML or JSON text: where each key, value and item begins and ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from policies.text import yaml_events
from policies.text.positions import BadText

Shape: TypeAlias = Literal["scalar", "mapping", "list", "alias"]


@dataclass(slots=True)
class Layout:
    """Where a value is in the text: from `start` up to `end`, and the same for its parts.

    `flow`: whether a mapping or list has braces or brackets, as in JSON.
    `style`: the style of a scalar: empty for plain, else a quote, `|` or `>`.
    `anchored`: whether it has an anchor, so that an alias may repeat it.
    `items`: the items of a list, or the values of a mapping.
    `keys`: the keys of a mapping, one for each item.
    `text`: the text of a scalar.
    """

    shape: Shape
    start: int
    end: int
    flow: bool = False
    style: str = ""
    anchored: bool = False
    keys: list[Layout] = field(default_factory=list)
    items: list[Layout] = field(default_factory=list)
    text: str = ""


def layout(text: str, start: int, end: int) -> Layout:
    """The layout of the value at [start, end). Raises BadText if it cannot be parsed."""
    column = start - (text.rfind("\n", 0, start) + 1)
    following = yaml_events.events(" " * column + text[start:end])
    try:
        return _first(following, start - column)
    except yaml_events.YAMLError:
        raise BadText(start, "this part cannot be parsed without the text around it") from None


def _first(following: Callable[[], Any], shift: int) -> Layout:
    """The layout of the first value. Works without recursion, since the depth of the text is not limited."""
    around: list[tuple[Layout, bool]] = []  # the open mappings and lists, each with whether a key is next
    while not isinstance(event := following(), yaml_events.StreamEndEvent):
        laid = _layout_of(event, shift)
        if isinstance(event, yaml_events.MappingEndEvent | yaml_events.SequenceEndEvent):
            laid, _ = around.pop()
            laid.end = _end(event) + shift if laid.flow else max(laid.start, _last_end(laid))
        elif laid is None:
            continue
        elif laid.shape in ("mapping", "list"):
            around.append((laid, True))
            continue
        if not around:
            return laid
        around[-1] = _add(*around[-1], laid)
    raise BadText(shift, "the value is missing")


def _end(event: Any) -> int:
    index: int = event.end_mark.index
    return index


def _last_end(laid: Layout) -> int:
    return max((each.end for each in (*laid.keys[-1:], *laid.items[-1:])), default=laid.start)


def _add(holder: Layout, key_is_next: bool, laid: Layout) -> tuple[Layout, bool]:
    if holder.shape == "mapping" and key_is_next:
        holder.keys.append(laid)
        return holder, False
    holder.items.append(laid)
    return holder, True


def _layout_of(event: Any, shift: int) -> Layout | None:
    at = event.start_mark.index + shift, event.end_mark.index + shift
    match event:
        case yaml_events.ScalarEvent():
            anchored = event.anchor is not None or event.tag is not None
            return Layout("scalar", *at, style=event.style or "", anchored=anchored, text=event.value)
        case yaml_events.AliasEvent():
            return Layout("alias", *at)
        case yaml_events.MappingStartEvent():
            return Layout("mapping", *at, flow=bool(event.flow_style), anchored=event.anchor is not None)
        case yaml_events.SequenceStartEvent():
            return Layout("list", *at, flow=bool(event.flow_style), anchored=event.anchor is not None)
    return None
