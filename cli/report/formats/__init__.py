"""The output formats of each kind of result. The module of a format is imported only when the format is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypeAlias

import click

from cli.exits import OutOfReach
from cli.input.outputs import Output
from cli.output import emit, write

Steps: TypeAlias = tuple[str, ...]
"""Functions as `module:name`. The first gets the result, and each other one gets what the one before it returned."""

_JSON, _YAML = "cli.output:json_text", "cli.report.formats.yaml:document"
_MARKDOWN = "cli.report.formats.markdown:render_page"
_JUNIT, _TAP = "cli.report.formats.junit:render", "cli.report.formats.tap:render"


def _of(module: str, **others: Steps) -> Mapping[str, Steps]:
    """The formats of a result that `module` turns into text, JSON and a page of tables.

    `others`: additional formats, and steps that replace the usual ones.
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


OF_IMPACTS = _of("cli.report.impacts", markdown=("cli.report.impacts:as_short_page", _MARKDOWN))

OF_ROLLOUTS = _of("cli.report.rollouts")

OF_AUDITS = _of(
    "cli.report.audits", openreports=("cli.report.audits:as_reports",), baseline=("cli.report.audits:as_baseline",)
)

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
"""The formats of a Report. Most of them are defined by a service, such as GitHub."""

OF_SUITES: Mapping[str, Steps] = {
    "text": ("cli.report.suites:as_text",),
    "json": ("cli.report.suites:as_json", _JSON),
    "yaml": ("cli.report.suites:as_json", _YAML),
    "markdown": ("cli.report.formats.markdown:render_suites",),
    "github": ("cli.report.formats.github:render_suites",),
    "junit": ("cli.report.formats.checks:of_suites", _JUNIT),
    "tap": ("cli.report.formats.checks:of_suites", _TAP),
}


def deliver(outputs: Sequence[Output], formats: Mapping[str, Steps], result: object) -> None:
    """Write the result to each output, in its format. Files get no colour.

    Files are written first, so that they are complete even if standard output is closed. If one or more outputs cannot
    be written, this raises the first OutOfReach after it has written all others.
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
