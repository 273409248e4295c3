"""The formats of each kind of result; only those that are asked for are loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypeAlias

import click

from cli.exits import OutOfReach
from cli.input.outputs import Output
from cli.output import emit, write

Steps: TypeAlias = tuple[str, ...]
"""Functions as module:name. The first gets the result, each other one what the function before it returned."""

_JSON, _YAML = "cli.output:json_text", "cli.report.formats.yaml:document"
_JUNIT, _TAP = "cli.report.formats.junit:render", "cli.report.formats.tap:render"
_TABLE, _MARKDOWN, _HTML = (f"cli.report.pages.page:{form}" for form in ("table", "markdown", "html"))

OF_REPORTS: Mapping[str, Steps] = {
    "text": ("cli.report.as_text:as_text",),
    "table": ("cli.report.formats.table:render",),
    "json": ("cli.report.as_json:report_json", _JSON),
    "yaml": ("cli.report.as_json:report_json", _YAML),
    "markdown": ("cli.report.formats.markdown:render",),
    "github": ("cli.report.formats.github:render",),
    "gitlab": ("cli.report.formats.gitlab:render",),
    "sarif": ("cli.report.formats.sarif:render",),
    "junit": ("cli.report.formats.checks:of_report", _JUNIT),
    "tap": ("cli.report.formats.checks:of_report", _TAP),
    "html": ("cli.report.formats.html:render",),
}
"""How a Report is rendered."""

OF_SUITES: Mapping[str, Steps] = {
    "text": ("cli.report.suites.suite_text:as_text",),
    "json": ("cli.report.suites.suite_json:suites_json", _JSON),
    "yaml": ("cli.report.suites.suite_json:suites_json", _YAML),
    "markdown": ("cli.report.formats.markdown:render_suites",),
    "github": ("cli.report.formats.github:render_suites",),
    "junit": ("cli.report.formats.checks:of_suites", _JUNIT),
    "tap": ("cli.report.formats.checks:of_suites", _TAP),
}
"""The same for the outcomes of suites."""

OF_IMPACTS: Mapping[str, Steps] = {
    "text": ("cli.report.changes.impact_text:impact_text",),
    "table": ("cli.report.pages.impact:impact_page", _TABLE),
    "json": ("cli.report.changes.impact_json:impact_answer", _JSON),
    "yaml": ("cli.report.changes.impact_json:impact_answer", _YAML),
    "markdown": ("cli.report.pages.impact:short_impact_page", _MARKDOWN),
    "html": ("cli.report.pages.impact:impact_page", _HTML),
}
"""The same for what a change does."""

OF_ROLLOUTS: Mapping[str, Steps] = {
    "text": ("cli.report.changes.rollout_text:rollout_text",),
    "table": ("cli.report.pages.rollout:rollout_page", _TABLE),
    "json": ("cli.report.changes.rollout_json:rollout_answer", _JSON),
    "yaml": ("cli.report.changes.rollout_json:rollout_answer", _YAML),
    "markdown": ("cli.report.pages.rollout:rollout_page", _MARKDOWN),
    "html": ("cli.report.pages.rollout:rollout_page", _HTML),
}
"""The same for a safe order."""

OF_AUDITS: Mapping[str, Steps] = {
    "text": ("cli.report.audits.text:as_text",),
    "table": ("cli.report.audits.formats:audit_page", _TABLE),
    "json": ("cli.report.audits.formats:audit_answer", _JSON),
    "yaml": ("cli.report.audits.formats:audit_answer", _YAML),
    "openreports": ("cli.report.audits.formats:as_reports",),
    "baseline": ("cli.report.audits.formats:as_baseline",),
    "markdown": ("cli.report.audits.formats:audit_page", _MARKDOWN),
    "html": ("cli.report.audits.formats:audit_page", _HTML),
}
"""The same for an audit."""


def deliver(outputs: Sequence[Output], formats: Mapping[str, Steps], result: object) -> None:
    """Write the result in each format; files get no colour.

    Files come first, so that a closed standard output does not cost them. Raises OutOfReach for the first file that
    cannot be written, when all others are.
    """
    failures: list[OutOfReach] = []
    for each in sorted(outputs, key=lambda output: not output.file):
        text = rendered(formats[each.format], result)
        try:
            if each.file:
                write(each.file, click.unstyle(text))
            else:
                emit(text)
        except OutOfReach as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def rendered(steps: Steps, result: object) -> str:
    for step in steps:
        module, _, function = step.partition(":")
        result = getattr(import_module(module), function)(result)
    return str(result)
