"""Trees as lines of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from analysis.trees.quotas import QuotaRow, Quotas
from analysis.trees.walk import DrawnNode
from policies.model.forest import Forest
from policies.model.printing import plain


class Glyphs(NamedTuple):
    branch: str
    last: str
    through: str


FINE = Glyphs("├─ ", "└─ ", "│  ")
PLAIN = Glyphs("|- ", "`- ", "|  ")
_GAP = "   "


def glyphs() -> Glyphs:
    """The glyphs that standard output can show."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    return FINE if encoding == "utf8" else PLAIN


def lines(forest: Forest, quotas: Quotas, drawn: DrawnNode, glyphs: Glyphs) -> Iterator[str]:
    """A node: its name, and under it a line for each resource."""
    notes = [drawn.top] if drawn.top else []
    notes += ["no object here"] if forest.node(drawn.ref) is None else []
    notes += ["continued below"] if drawn.cut else []
    notes += [mark] if (mark := quotas.mark(drawn.ref)) else []
    yield _before(drawn, glyphs) + plain(str(drawn.ref)) + (f" ({plain('; '.join(notes))})" if notes else "")
    margin = _columns(drawn.last, glyphs) + (glyphs.through if drawn.branches else _GAP)
    yield from (margin + row_text(row) for row in quotas.rows(drawn.ref))


def row_text(row: QuotaRow) -> str:
    name = f"{row.flavor}/{row.resource}" if row.flavor else row.resource
    own = _amounts(row.own) or "not set"
    return plain(f"{name}: {own}" + (f"; children: {_amounts(row.below)}" if row.below else ""))


def _amounts(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{word} {text}" for word, text in texts.items())


def _before(drawn: DrawnNode, glyphs: Glyphs) -> str:
    if not drawn.last:
        return ""
    return _columns(drawn.last[:-1], glyphs) + (glyphs.last if drawn.last[-1] else glyphs.branch)


def _columns(last: tuple[bool, ...], glyphs: Glyphs) -> str:
    return "".join(_GAP if is_last else glyphs.through for is_last in last)
