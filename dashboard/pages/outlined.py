"""The two outlines of a what-if as one picture, for a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analysis.what_if.outlines import OutlinedNode, Outlines
from dashboard.trees.icicle import width_of

_LINE, _STEP, _BAR, _GAP, _LEAST = 20.0, 18.0, 110.0, 40.0, 320.0
"""Height of a line, indentation of a depth, width of a bar with what follows it, between the columns, of a column."""
QUOTA_WORDS = {
    "subtree": "quota with its children",
    "own": "own quota",
    "guaranteed": "guaranteed",
    "reach": "most that it can use",
}
"""What the numbers of an outline are called."""
_QUEUES = ("ClusterQueue", "Namespace")
"""Kinds that have nothing below."""


class OutlineLine(NamedTuple):
    """`kept`, `gained`, `lost`: widths of a bar, of 100; None for a line without one."""

    x: float
    y: float
    text: str
    strong: bool = False
    kept: float | None = None
    gained: float = 0.0
    lost: float = 0.0


class OutlinePicture(NamedTuple):
    """`columns`: where the two sides begin. Lengths are in units of the picture."""

    width: float
    height: float
    columns: tuple[float, float]
    lines: Sequence[OutlineLine]


def quota_word(number: str, kind: str = "Cohort") -> str:
    """The words for a number of a node of this kind."""
    return "quota" if number == "subtree" and kind in _QUEUES else QUOTA_WORDS[number]


def outline_picture(found: Outlines) -> OutlinePicture:
    first = list(_lines(found.before, found.more[0], 0.0))
    second_at = max(_LEAST, *(_end(each) for each in first)) + _GAP if first else _LEAST + _GAP
    second = list(_lines(found.after, found.more[1], second_at))
    lines = [*first, *second]
    return OutlinePicture(
        max((second_at + _LEAST, *(_end(each) for each in lines))),
        max((each.y for each in lines), default=0.0) + _LINE,
        (0.0, second_at),
        lines,
    )


def _end(line: OutlineLine) -> float:
    return line.x + width_of(line.text) + (0.0 if line.kept is None else _BAR)


def _lines(side: Sequence[OutlinedNode], more: int, left: float) -> Iterator[OutlineLine]:
    y = 0.0
    for node in side:
        x = left + node.depth * _STEP
        tags = "".join(f"  [{each}]" for each in node.tags)
        yield OutlineLine(x, y := y + _LINE, f"{node.ref.kind} {node.ref.key}{tags}", strong=node.changes)
        for each in node.amounts:
            step = f"  [{'more' if each.step > 0 else 'less'}]" if each.step else ""
            text = f"{each.pair}: {quota_word(each.number, node.ref.kind)} {each.amount}{step}"
            beyond = round(each.width - each.kept, 1)
            gained, lost = (beyond, 0.0) if each.step else (0.0, beyond)
            yield OutlineLine(x, y := y + _LINE, text, kept=each.kept, gained=gained, lost=lost)
        if node.rest:
            yield OutlineLine(x, y := y + _LINE, node.rest)
    if more:
        yield OutlineLine(left, y + _LINE, f"and {more} more")
