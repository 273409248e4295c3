"""Renders workflow commands of GitHub Actions. GitHub turns those on standard output into annotations of a change.

GitHub limits the annotations of each level in a step, so the last annotation summarizes the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.documents import SourcePlace
from analysis.report import Report
from cli.input.documents import STDIN
from cli.report.formats.checks import of_suites
from cli.report.reports import annotated, closing_line, head_line, not_evaluated_lines, relative
from cli.report.suite_outcomes import SuiteOutcome
from cli.report.suites import closing_line as suites_closing_line
from policies.model.findings import Severity
from policies.model.printing import plain

GITHUB_ANNOTATIONS = 10
"""Annotations of one level in a step; GitHub silently drops more."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


@dataclass(frozen=True, slots=True)
class Annotation:
    level: str
    title: str
    text: str
    place: SourcePlace | None = None


def render(report: Report) -> str:
    """The head line, the annotations in order of severity, and the counts."""
    shown = list(_commands(_of_report(report), report.folder))
    return "\n".join([head_line(report), *shown, closing_line(report)])


def render_suites(outcomes: Sequence[SuiteOutcome]) -> str:
    failed = [outcome for outcome in outcomes if not outcome.holds]
    annotations = [
        Annotation("error", check.name, "\n".join(check.details), outcome.case.place)
        for outcome, check in zip(failed, of_suites(failed).cases, strict=True)
    ]
    return "\n".join([*_commands(annotations, ""), suites_closing_line(outcomes)])


def _of_report(report: Report) -> Iterator[Annotation]:
    for item in report.unreadable:
        yield Annotation("error", "unreadable", plain(item.message), item.place)
    for entry in report.entries:
        yield Annotation(_LEVELS[entry.judged.severity], entry.judged.rule.id, annotated(entry), entry.place)
    for line in not_evaluated_lines(report):
        yield Annotation("notice", "not evaluated", line)


def _commands(annotations: Iterable[Annotation], folder: str) -> Iterator[str]:
    by_level: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        by_level.setdefault(annotation.level, []).append(annotation)
    for level, found in by_level.items():
        shown = len(found) if len(found) <= GITHUB_ANNOTATIONS else GITHUB_ANNOTATIONS - 1
        yield from (_command(annotation, folder) for annotation in found[:shown])
        if rest := Counter(annotation.title for annotation in found[shown:]):
            counts = ", ".join(f"{title} {count}" for title, count in rest.items())
            yield _command(Annotation(level, f"{rest.total()} more", counts), folder)


def _command(annotation: Annotation, folder: str) -> str:
    place = annotation.place
    properties = {"title": annotation.title}
    if place is not None and place.file != STDIN:
        file = plain(relative(place.file, folder))
        properties = {"file": file, "line": str(place.line), "col": str(place.column), **properties}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{annotation.level} {listed}::{_data(annotation.text)}"


def _data(text: str) -> str:
    """The text with escaped line breaks, since a line break would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
