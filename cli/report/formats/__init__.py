"""The formats of a report, one module each; only those that are asked for are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TypeVar, cast

import click

from cli.exits import OutOfReach
from cli.input.outputs import Output
from cli.output import emit, write

T = TypeVar("T")

OF_REPORTS: Mapping[str, str] = {
    "text": "cli.report.as_text:as_text",
    "table": "cli.report.formats.table:render",
    "json": "cli.report.as_json:as_json",
    "yaml": "cli.report.formats.yaml:render",
    "markdown": "cli.report.formats.markdown:render",
    "github": "cli.report.formats.github:render",
    "gitlab": "cli.report.formats.gitlab:render",
    "sarif": "cli.report.formats.sarif:render",
    "junit": "cli.report.formats.junit:render",
    "tap": "cli.report.formats.tap:render",
    "html": "cli.report.formats.html:render",
}
"""The function that renders a Report, as module:name."""

OF_SUITES: Mapping[str, str] = {
    "text": "cli.report.suites.suite_text:as_text",
    "json": "cli.report.suites.suite_json:as_json",
    "yaml": "cli.report.formats.yaml:render_suites",
    "markdown": "cli.report.formats.markdown:render_suites",
    "github": "cli.report.formats.github:render_suites",
    "junit": "cli.report.formats.junit:render_suites",
    "tap": "cli.report.formats.tap:render_suites",
}
"""The same for the outcomes of suites."""

OF_IMPACTS: Mapping[str, str] = {
    "text": "cli.report.changes.impact_text:impact_text",
    "table": "cli.report.pages.impact:as_table",
    "json": "cli.report.changes.impact_json:impact_json",
    "yaml": "cli.report.pages.as_yaml:impact",
    "markdown": "cli.report.pages.impact:as_markdown",
    "html": "cli.report.pages.impact:as_html",
}
"""The same for what a change does."""

OF_ROLLOUTS: Mapping[str, str] = {
    "text": "cli.report.changes.rollout_text:rollout_text",
    "table": "cli.report.pages.rollout:as_table",
    "json": "cli.report.changes.rollout_json:rollout_json",
    "yaml": "cli.report.pages.as_yaml:rollout",
    "markdown": "cli.report.pages.rollout:as_markdown",
    "html": "cli.report.pages.rollout:as_html",
}
"""The same for a safe order."""


OF_AUDITS: Mapping[str, str] = {
    "text": "cli.report.audits.text:as_text",
    "table": "cli.report.audits.formats:as_table",
    "json": "cli.report.audits.formats:as_json",
    "yaml": "cli.report.audits.formats:as_yaml",
    "openreports": "cli.report.audits.formats:as_reports",
    "baseline": "cli.report.audits.formats:as_baseline",
    "markdown": "cli.report.audits.formats:as_markdown",
    "html": "cli.report.audits.formats:as_html",
}
"""The same for an audit."""


def deliver(outputs: Sequence[Output], formats: Mapping[str, str], result: T) -> None:
    """Write the result in each format; files get no colour.

    Files come first, so that a closed standard output does not cost them. Raises OutOfReach for the first file that
    cannot be written, when all others are.
    """
    failures: list[OutOfReach] = []
    for each in sorted(outputs, key=lambda output: not output.file):
        text = _function(formats[each.format], result)(result)
        try:
            if each.file:
                write(each.file, click.unstyle(text))
            else:
                emit(text)
        except OutOfReach as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def _function(name: str, _: T) -> Callable[[T], str]:
    module, _colon, function = name.partition(":")
    return cast("Callable[[T], str]", getattr(import_module(module), function))
