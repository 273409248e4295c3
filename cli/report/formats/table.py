"""Renders a report as a table with one line for each finding. Lines are not wrapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from analysis.report import Report
from cli.output import paint
from cli.report.formats.page import Page, Table
from cli.report.reports import COLOURS, closing_line, head_line, not_evaluated_lines, where
from policies.judging.sentence import assertion
from policies.model.printing import plain

_HEAD = ("SEVERITY", "RULE", "OBJECT", "FIELD", "PLACE", "MESSAGE")


def render(report: Report) -> str:
    rows = [
        (
            entry.judged.severity.value,
            entry.judged.rule.id,
            plain(str(entry.judged.finding.object)),
            plain(entry.judged.finding.field),
            where(entry.place),
            assertion(entry.judged),
        )
        for entry in report.entries
    ]
    colours = ["", *(COLOURS[entry.judged.severity] for entry in report.entries)]
    table = columns([_HEAD, *rows], colours) if rows else ()
    return "\n".join([head_line(report), *table, *not_evaluated_lines(report), closing_line(report)])


def columns(rows: Sequence[Sequence[str]], colours: Sequence[str] = ()) -> Iterator[str]:
    """The rows with aligned columns. `colours`: the colour of the first cell of each row."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, colour in zip_longest(rows, colours, fillvalue=""):
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([paint(first, colour) if colour else first, *rest]).rstrip()


def render_page(page: Page) -> str:
    return "\n".join([plain(page.head), plain(page.title), *chain.from_iterable(map(_columns, page.filled))])


def _columns(table: Table) -> Iterator[str]:
    rows = [[plain(cell) for cell in row] for row in table.rows]
    yield from ("", f"{table.heading}:")
    yield from columns([[cell.upper() for cell in table.head], *rows])
    if table.more:
        yield plain(table.more)
