"""A title and tables, as Markdown, as HTML and as plain columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cli.report.formats.html import filled
from cli.report.formats.markdown import bounded_table, harmless
from cli.report.formats.table import columns
from policies.model.printing import plain


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `more` says what the rows leave out. Cells may contain any text of the manifests."""

    heading: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page. Tables without rows are left out."""

    title: str
    head: str
    tables: tuple[Table, ...]

    @property
    def filled(self) -> list[Table]:
        return [table for table in self.tables if table.rows]


def markdown(page: Page) -> str:
    """The page as Markdown. Text of manifests is escaped. The tables share the size of a job summary."""
    return "\n\n".join(
        [f"## Quotree: {harmless(plain(page.title))}", harmless(plain(page.head)), *_markdown_tables(page.filled)]
    )


def _markdown_tables(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        yield f"### {harmless(table.heading)}"
        rows = [[plain(cell) for cell in row] for row in table.rows]
        yield "\n".join(bounded_table(table.head, rows, share=len(tables)))
        if table.more:
            yield harmless(table.more)


def html(page: Page) -> str:
    return filled("page.html.jinja", title=page.title, head=page.head, tables=page.filled)


def table(page: Page) -> str:
    return "\n".join([plain(page.head), plain(page.title), *chain.from_iterable(map(_columns, page.filled))])


def _columns(table: Table) -> Iterator[str]:
    rows = [[plain(cell) for cell in row] for row in table.rows]
    yield from ("", f"{table.heading}:")
    yield from columns([[cell.upper() for cell in table.head], *rows])
    if table.more:
        yield plain(table.more)
