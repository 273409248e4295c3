"""The layout of a what-if's two outlines, before and after, in one SVG file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.what_if.outlines import OutlinedNode, Outlines
from dashboard.trees.icicle import width_of

_LINE = 20.0
_INDENT = 18.0
_BAR = 110.0
"""The width of a bar, with the space after it."""
_GAP = 40.0
"""The space between the two columns."""
_MIN_COLUMN = 320.0
"""The smallest width of a column."""
QUOTA_WORDS = {
    "subtree": "quota with its children",
    "own": "own quota",
    "guaranteed": "guaranteed",
    "reach": "most that it can use",
}
"""The words for each number of a node. `reach` includes what it may borrow."""
_LEAVES = ("ClusterQueue", "Namespace")
"""Kinds without children; their subtree quota is simply their quota."""


class OutlineLine(NamedTuple):
    """A line of text, with or without a bar.

    `kept`, `gained`, `lost`: the widths, in percent of a bar, of quota that stays, is new, or is gone. `kept` is None
    for a line without a bar.
    """

    x: float
    y: float
    text: str
    strong: bool = False
    kept: float | None = None
    gained: float = 0.0
    lost: float = 0.0


class OutlinePicture(NamedTuple):
    """The SVG drawing. `columns`: the x of the outline before, and of the one after. Lengths are in viewBox units."""

    width: float
    height: float
    columns: tuple[float, float]
    lines: Sequence[OutlineLine]


def quota_word(number: str, kind: str = "Cohort") -> str:
    """The label of a number, such as `own`, at a node of this kind."""
    return "quota" if number == "subtree" and kind in _LEAVES else QUOTA_WORDS[number]


def outline_picture(found: Outlines) -> OutlinePicture:
    first = list(_lines(found.before, found.more[0], 0.0))
    second_x = max(_MIN_COLUMN, *(_end(each) for each in first)) + _GAP if first else _MIN_COLUMN + _GAP
    second = list(_lines(found.after, found.more[1], second_x))
    lines = [*first, *second]
    return OutlinePicture(
        max((second_x + _MIN_COLUMN, *(_end(each) for each in lines))),
        max((each.y for each in lines), default=0.0) + _LINE,
        (0.0, second_x),
        lines,
    )


def _end(line: OutlineLine) -> float:
    return line.x + width_of(line.text) + (0.0 if line.kept is None else _BAR)


def _lines(side: Sequence[OutlinedNode], more: int, left: float) -> Iterator[OutlineLine]:
    y = 0.0
    for node in side:
        x = left + node.depth * _INDENT
        tags = "".join(f"  [{tag}]" for tag in node.tags)
        yield OutlineLine(x, y := y + _LINE, f"{node.ref.kind} {node.ref.key}{tags}", strong=node.changes)
        for each in node.amounts:
            trend = f"  [{'more' if each.step > 0 else 'less'}]" if each.step else ""
            text = f"{each.pair}: {quota_word(each.number, node.ref.kind)} {each.amount}{trend}"
            difference = round(each.width - each.kept, 1)
            gained, lost = (difference, 0.0) if each.step else (0.0, difference)
            yield OutlineLine(x, y := y + _LINE, text, kept=each.kept, gained=gained, lost=lost)
        if node.rest:
            yield OutlineLine(x, y := y + _LINE, node.rest)
    if more:
        yield OutlineLine(left, y + _LINE, f"and {more} more")
