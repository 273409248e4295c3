"""Trees as lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cli.report.output import plain
from cli.report.quotas import Quotas, Row
from cli.report.trees import Spot
from policies.model.forest import Forest


class Glyphs(NamedTuple):
    branch: str
    last: str
    through: str


FINE = Glyphs("├─ ", "└─ ", "│  ")
PLAIN = Glyphs("|- ", "`- ", "|  ")
_GAP = "   "


def glyphs() -> Glyphs:
    """Those that standard output can show."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    return FINE if encoding == "utf8" else PLAIN


def lines(forest: Forest, quotas: Quotas, spot: Spot, glyphs: Glyphs) -> Iterator[str]:
    """A node: its name, and under it a line for each resource."""
    node = forest.node(spot.ref)
    marks = [spot.top] if spot.top else []
    marks += ["no object here"] if node is None else []
    marks += ["continued below"] if spot.cut else []
    marks += [told] if (told := quotas.mark(spot.ref)) else []
    yield _before(spot, glyphs) + plain(str(spot.ref)) + (f" ({plain('; '.join(marks))})" if marks else "")
    has_branches = forest.has_children(spot.ref) and not spot.cut
    margin = _under(spot, glyphs) + (glyphs.through if has_branches else _GAP)
    yield from (margin + row_text(row) for row in quotas.rows(spot.ref))


def row_text(row: Row) -> str:
    name = f"{row.flavor}/{row.resource}" if row.flavor else row.resource
    own = _amounts(row.own) or "not set"
    return plain(f"{name}: {own}" + (f"; children: {_amounts(row.below)}" if row.below else ""))


def _amounts(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{word} {text}" for word, text in texts.items())


def _before(spot: Spot, glyphs: Glyphs) -> str:
    if not spot.last:
        return ""
    return _columns(spot.last[:-1], glyphs) + (glyphs.last if spot.last[-1] else glyphs.branch)


def _under(spot: Spot, glyphs: Glyphs) -> str:
    return _columns(spot.last, glyphs)


def _columns(last: tuple[bool, ...], glyphs: Glyphs) -> str:
    return "".join(_GAP if is_last else glyphs.through for is_last in last)
