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


def _of(module: str, **others: Steps) -> Mapping[str, Steps]:
    """The formats of a result that `module` turns into text, JSON and a page of tables.

    `others` are the formats that are made in another way.
    """
    page = f"{module}:as_page"
    return {
        "text": (f"{module}:as_text",),
        "table": (page, "cli.report.formats.table:render_page"),
        "json": (f"{module}:as_json", _JSON),
        "yaml": (f"{module}:as_json", _YAML),
        "markdown": (page, _MARKDOWN),
        "html": (page, "cli.report.formats.html:render_page"),
        **others,
    }


_MARKDOWN = "cli.report.formats.markdown:render_page"
OF_IMPACTS = _of("cli.report.impacts", markdown=("cli.report.impacts:as_short_page", _MARKDOWN))
"""How the effect of a change is rendered."""

OF_ROLLOUTS = _of("cli.report.rollouts")
"""The same for a safe order."""

OF_AUDITS = _of(
    "cli.report.audits", openreports=("cli.report.audits:as_reports",), baseline=("cli.report.audits:as_baseline",)
)
"""The same for an audit."""

OF_REPORTS: Mapping[str, Steps] = {
    "text": ("cli.report.reports:as_text",),
    "table": ("cli.report.formats.table:render",),
    "json": ("cli.report.reports:as_json", _JSON),
    "yaml": ("cli.report.reports:as_json", _YAML),
    "markdown": ("cli.report.formats.markdown:render",),
    "github": ("cli.report.formats.github:render",),
    "gitlab": ("cli.report.formats.gitlab:render",),
    "sarif": ("cli.report.formats.sarif:render",),
    "junit": ("cli.report.formats.checks:of_report", _JUNIT),
    "tap": ("cli.report.formats.checks:of_report", _TAP),
    "html": ("cli.report.formats.html:render",),
}
"""The same for a Report: most of its formats belong to a service, which decides what a finding looks like."""

OF_SUITES: Mapping[str, Steps] = {
    "text": ("cli.report.suites:as_text",),
    "json": ("cli.report.suites:as_json", _JSON),
    "yaml": ("cli.report.suites:as_json", _YAML),
    "markdown": ("cli.report.formats.markdown:render_suites",),
    "github": ("cli.report.formats.github:render_suites",),
    "junit": ("cli.report.formats.checks:of_suites", _JUNIT),
    "tap": ("cli.report.formats.checks:of_suites", _TAP),
}
"""The same for the outcomes of suites."""


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
