"""Renders a report or a page as one HTML file without external resources and scripts."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from analysis.report import Report
from cli.report.formats.page import Page
from cli.report.reports import closing_line, details, head_line, not_evaluated_lines, where, without_fix
from cli.version import VERSION
from policies.model.printing import plain


def filled(template: str, **values: Any) -> str:
    """A rendered template of this folder, as one file without external resources and scripts."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files(__package__).joinpath(template).read_text(encoding="utf-8")
    return environment.from_string(text).render(version=VERSION, plain=plain, **values)


def render(report: Report) -> str:
    return filled(
        "report.html.jinja",
        head=head_line(report),
        closing=closing_line(report),
        findings=[
            {
                "severity": entry.judged.severity.value,
                "rule": entry.judged.rule,
                "place": where(entry.place),
                "field": plain(entry.judged.finding.field),
                "message": without_fix(entry.judged),
                "details": details(entry),
                "fingerprint": fingerprint,
            }
            for entry, fingerprint in zip(report.entries, report.fingerprints, strict=True)
        ],
        unreadable=[(plain(str(item.place)), plain(item.message)) for item in report.unreadable],
        not_evaluated=list(not_evaluated_lines(report)),
    )


def render_page(page: Page) -> str:
    return filled("page.html.jinja", title=page.title, head=page.head, tables=page.filled)
