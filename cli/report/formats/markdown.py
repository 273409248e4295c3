"""Renders Markdown for a job summary or a comment. Texts of manifests are escaped, so that they contain no markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from analysis.report import Report
from cli.report.formats.checks import of_suites
from cli.report.formats.page import Page, Table
from cli.report.reports import closing_line, head_line, not_evaluated_lines, paragraph, where
from cli.report.suite_outcomes import SuiteOutcome
from cli.report.suites import closing_line as suites_closing_line
from policies.model.printing import plain

_SPECIAL = re.compile(
    r"""[#$&*<@\[\]\\`|~]         # mark-up, HTML, entities, cells, mathematics, mentions, issues
    |(?<![^\W_])_|_(?![^\W_])   # mark-up, unless letters and digits are on both sides
    |:(?=//|100:|1234:|(?![0-9]+:)[\w+-]+:)  # links, and emoji, as in queues.yaml:100:5
    |(?<=www)\.                 # links
    |(?<=GH)-(?=[0-9])          # issues
    |^\s*[>+=-]                 # quotations, lists and underlines of headings
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Characters that GitHub reads as markup. Others are not escaped, so that the source stays readable."""
GITHUB_SUMMARY = 1024 * 1024
"""The size of a step's job summary in bytes; GitHub refuses a larger one."""
_ROOM = GITHUB_SUMMARY - 64 * 1024
"""The size of all tables in bytes; the rest of the job summary is for the text around them."""


def render(report: Report) -> str:
    rows = [
        [entry.judged.severity.value, entry.judged.rule.id, where(entry.place), paragraph(entry)]
        for entry in report.entries
    ]
    rows += [["unreadable", "", plain(str(item.place)), plain(item.message)] for item in report.unreadable]
    notes = [f"- {harmless(line)}" for line in not_evaluated_lines(report)]
    return _page(closing_line(report), head_line(report), bounded_table(["", "rule", "place", "finding"], rows), notes)


def render_suites(outcomes: Sequence[SuiteOutcome]) -> str:
    rows = [
        [check.state.value, check.name, check.place, "\n".join(check.details)] for check in of_suites(outcomes).cases
    ]
    return _page(suites_closing_line(outcomes), "", bounded_table(["", "case", "place", "difference"], rows), ())


def render_page(page: Page) -> str:
    """The page as Markdown. Text of manifests is escaped. The tables share the size of a job summary."""
    return "\n\n".join(
        [f"## Quotree: {harmless(plain(page.title))}", harmless(plain(page.head)), *_tables(page.filled)]
    )


def _tables(tables: Sequence[Table]) -> Iterator[str]:
    for table in tables:
        yield f"### {harmless(table.heading)}"
        rows = [[plain(cell) for cell in row] for row in table.rows]
        yield "\n".join(bounded_table(table.head, rows, share=len(tables)))
        if table.more:
            yield harmless(table.more)


def _page(title: str, head: str, table: Iterable[str], notes: Sequence[str]) -> str:
    parts = [f"## Quotree: {harmless(title)}", harmless(head), "\n".join(table), "\n".join(notes)]
    return "\n\n".join(filter(None, parts))


def bounded_table(head: Sequence[str], rows: Sequence[Sequence[str]], share: int = 1) -> Iterator[str]:
    """The lines of a table. If they need more room than the table may have, the last line counts the rest.

    `share`: the number of tables that divide the room equally.
    """
    if not rows:
        return
    yield _row(head)
    yield _row(["---"] * len(head))
    size = 0
    for number, row in enumerate(rows):
        line = _row([harmless(cell) for cell in row])
        size += len(line.encode()) + 1
        if size > _ROOM // share:
            yield ""
            yield f"{len(rows) - number} more do not fit here."
            return
        yield line


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def harmless(text: str) -> str:
    """The text, escaped so that it contains no markup, HTML, link, table cell or @mention."""
    return _SPECIAL.sub(_entity, text).replace("\n", "<br>")


def _entity(found: re.Match[str]) -> str:
    entity = "".join(f"&#{ord(character)};" for character in found[0])
    return f"<code>{entity}</code>" if found[0] == "@" else entity
