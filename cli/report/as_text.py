"""The report for people: a head line that names the context, the findings worst first, a last line with the counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cli.report.model import Because, Entry, Report, Subject
from cli.report.output import paint, plain
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.findings import Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def as_text(report: Report) -> str:
    lines = [plain(_head(report.subject))]
    for entry in report.entries:
        lines += finding_lines(entry)
    lines += _not_evaluated(report)
    lines.append(_closing(report))
    return "\n".join(lines)


def _head(subject: Subject) -> str:
    held = "" if subject.kind == "nothing" else f", {_some(subject.held, 'queue')} there"
    given = f"{_some(subject.objects, 'object')}, {_some(subject.queues, 'queue')}"
    return f"judged against {subject.against}{held}: {given}"


def finding_lines(entry: Entry) -> Iterator[str]:
    """The finding, its causes and its fix."""
    finding, severity = entry.judged.finding, entry.judged.severity
    word = paint(severity.value, _COLOURS[severity])
    yield f"{plain(str(entry.place))}: {word}[{entry.judged.rule.id}]: {plain(_without_fix(entry.judged))}"
    yield from (f"    {plain(_because(because))}" for because in entry.causes)
    if finding.fix:
        yield f"    fix: {plain(finding.fix)}"


def _without_fix(judged: Judged) -> str:
    """The webhook's words; the fix that ends them gets a line of its own."""
    return sentence(replace(judged, finding=replace(judged.finding, fix="")))


def _because(because: Because) -> str:
    place = f"{because.place}: " if because.place else ""
    return f"{place}{because.cause.object}: {because.cause.field}: {because.cause.message}"


def _not_evaluated(report: Report) -> Iterator[str]:
    """Each reason once, with the rules that gave it."""
    for reason in dict.fromkeys(missed.reason for missed in report.not_evaluated):
        rules = ", ".join(missed.rule.id for missed in report.not_evaluated if missed.reason == reason)
        yield plain(f"not evaluated[{rules}]: {reason}")


def _closing(report: Report) -> str:
    counts = [(report.count(severity), severity.value) for severity in Severity]
    told = [f"{count} {word}" if word == "info" else _some(count, word) for count, word in counts if count]
    if report.not_evaluated:
        told.append(f"{_some(len({missed.rule.id for missed in report.not_evaluated}), 'rule')} not evaluated")
    if report.unreadable:
        told.append(f"{_some(len(report.unreadable), 'place')} unreadable")
    return ", ".join(told) or "nothing is wrong"


def _some(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")
