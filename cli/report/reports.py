"""Renders a report as text and as JSON (docs/schemas/report.schema.json), and the lines that other formats share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from analysis.documents import SourcePlace, Unreadable
from analysis.report import LocatedCause, Looked, Report, ReportedObject, ReportEntry, Subject
from cli.input.documents import STDIN
from cli.output import first_of, paint, some
from cli.version import VERSION
from policies.judging.sentence import flat, sentence
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import Severity
from policies.model.printing import plain

API_VERSION = "quotree.dev/v1alpha1"
"""The version of all JSON outputs (docs/schemas/*.schema.json). A change of meaning needs a new version."""
CLEAN = "nothing is wrong"
_MOST_NAMES = 8
"""The maximum number of names in a line. JSON has all of them."""
_MOST_CONSEQUENCES = 20
"""The maximum number of lines below one finding. JSON has all of them."""
_MOST_RULES = 5
"""The maximum number of rules that a line lists by their ids. JSON has all of them."""
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def as_text(report: Report) -> str:
    lines = [head_line(report), *looked_lines(report)]
    for entry in report.entries:
        lines += finding_lines(entry)
    lines += not_evaluated_lines(report)
    lines.append(closing_line(report))
    return "\n".join(lines)


def head_line(report: Report) -> str:
    """The first line: what was judged, against which context, and how old that is; or why nothing was judged."""
    return plain(f"nothing was judged: {report.out_of_reach}" if report.out_of_reach else _head(report.subject))


def looked_lines(report: Report) -> Iterator[str]:
    """The files and objects that were read, what was skipped, and the roots."""
    looked = report.looked
    if looked is None:
        return
    parts = []
    if looked.kinds:
        kinds = first_of([f"{kind} {count}" for kind, count in looked.kinds], _MOST_NAMES, "kind")
        parts.append(f"{looked.judged} with objects that are judged ({kinds})")
    if looked.passed:
        reasons = ", ".join(f"{count} {reason}" for reason, count in looked.passed)
        parts.append(f"{sum(count for _, count in looked.passed)} skipped ({reasons})")
    yield plain(": ".join(filter(None, [f"read {some(looked.files, 'file')}", ", ".join(parts)])))
    yield from (plain(line) for line in looked.notes)
    if looked.roots:
        names = [*filter(None, looked.roots), *("all else" for root in looked.roots if not root)]
        yield plain(f"{some(len(names), 'root')}: {first_of(names, _MOST_NAMES, 'root')}")


def _head(subject: Subject) -> str:
    context = subject.against
    if subject.kind != "nothing":
        context += f"{_as_of(subject.as_of, subject)}, {some(subject.context_queues, 'queue')} there"
    inputs = f"{some(subject.objects, 'object')}, {some(subject.queues, 'queue')}"
    if subject.base is None:
        return f"judged against {context}: {inputs}"
    start = f"{subject.base.name} (commit {subject.base.commit[:12]}{_as_of(subject.base.committed, subject)})"
    changes = f"{subject.changed} changed, {subject.deleted} deleted"
    around = "" if subject.kind == "nothing" else f" on {context}"
    return f"judged against {start}{around}: {inputs}; {changes}"


def _as_of(moment: datetime | None, subject: Subject) -> str:
    """The time and age of a state; empty for one that is read now."""
    if moment is None:
        return ""
    minutes = (subject.judged_at - moment) // timedelta(minutes=1) if subject.judged_at else 0
    units = [(minutes // 1440, "day"), (minutes // 60, "hour"), (minutes, "minute")]
    old = next((f", {some(count, unit)} old" for count, unit in units if count > 0), "")
    return f" as of {moment:%Y-%m-%dT%H:%M:%SZ}{old}"


def finding_lines(entry: ReportEntry) -> Iterator[str]:
    """The lines of a finding: its message, its causes, its fix and its consequences."""
    severity = entry.judged.severity
    word = paint(severity.value, COLOURS[severity])
    yield f"{where(entry.place)}: {word}[{entry.judged.rule.id}]: {without_fix(entry.judged)}"
    yield from (f"    {line}" for line in details(entry))


def where(place: SourcePlace) -> str:
    """The place, and the kustomization that rendered the object, since one of its patches may have set the value."""
    return f"{plain(str(place))} ({rendered(place)})" if place.overlay else plain(str(place))


def rendered(place: SourcePlace) -> str:
    """The kustomization that rendered the manifest; empty if the manifest is applied as written."""
    return plain(f"as {place.overlay} renders it") if place.overlay else ""


def consequence_lines(judged: Judged) -> Iterator[str]:
    """The most severe consequences of the finding, one line each, and a line that counts the others."""
    for each in judged.consequences[:_MOST_CONSEQUENCES]:
        finding, place = each.finding, f"{each.finding.object}: {each.finding.field}"
        is_there = (finding.object, finding.field) == (judged.finding.object, judged.finding.field)
        yield f"follows from it: {each.rule.id}: {flat(finding.message) if is_there else plain(place)}"
    if (more := len(judged.consequences) - _MOST_CONSEQUENCES) > 0:
        yield f"follows from it: {some(more, 'more finding')}"


def without_fix(judged: Judged) -> str:
    """The sentence of the webhook without the fix at its end, for formats that show the fix separately."""
    return sentence(replace(judged, finding=replace(judged.finding, fix="")))


def cause_line(located: LocatedCause) -> str:
    place, cause = f"{where(located.place)}: " if located.place else "", located.cause
    return plain(f"{place}{': '.join(filter(None, [str(cause.object), cause.field, cause.message]))}")


def not_evaluated_lines(report: Report) -> Iterator[str]:
    """A line for each reason why rules were not evaluated; none if nothing was, since the head line has the reason."""
    return iter(()) if report.out_of_reach else reason_lines(report.not_evaluated)


def reason_lines(not_evaluated: Sequence[Unjudged]) -> Iterator[str]:
    """A line for each reason, with its rules, or with their number if there are many."""
    for reason in dict.fromkeys(missed.reason for missed in not_evaluated):
        rules = [missed.rule.id for missed in not_evaluated if missed.reason == reason]
        named = ", ".join(rules) if len(rules) <= _MOST_RULES else some(len(rules), "rule")
        yield plain(f"not evaluated[{named}]: {reason}")


def closing_line(report: Report) -> str:
    text = closing(report.count, report.not_evaluated, report.baselined, len(report.unreadable))
    return "nothing was judged" if report.empty and text == CLEAN else text


def closing(count: Callable[[Severity], int], missed: Sequence[Unjudged], baselined: int, unreadable: int) -> str:
    """The last line: the numbers of findings by severity, of skipped rules, of known findings, of unreadable places."""
    parts = severities(count)
    if missed:
        parts.append(f"{some(len({each.rule.id for each in missed}), 'rule')} not evaluated")
    if baselined:
        parts.append(f"{baselined} in the baseline")
    if unreadable:
        parts.append(f"{some(unreadable, 'place')} unreadable")
    return ", ".join(parts) or CLEAN


def severities(count: Callable[[Severity], int]) -> list[str]:
    """Texts such as `1 error`, `2 warnings`, `3 info`. Severities without findings are left out."""
    counts = [(count(severity), severity.value) for severity in Severity]
    return [f"{found} {word}" if word == "info" else some(found, word) for found, word in counts if found]


def as_json(report: Report) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Report",
        "context": {**_context(report), **_moment(report)},
        "summary": _summary(report),
        "findings": list(map(_finding_json, report.entries, report.fingerprints)),
        "notEvaluated": [{"rule": missed.rule.id, "reason": missed.reason} for missed in report.not_evaluated],
        "unreadable": [unreadable_json(item) for item in report.unreadable],
    }


def _context(report: Report) -> dict[str, Any]:
    subject, base = report.subject, report.subject.base
    since = (
        {
            "base": {
                "revision": base.name,
                "commit": base.commit,
                "committed": f"{base.committed:%Y-%m-%dT%H:%M:%SZ}",
                "changed": subject.changed,
                "deleted": subject.deleted,
            }
        }
        if base
        else {}
    )
    return {
        "against": subject.kind,
        "name": subject.name,
        "queuesHeld": subject.context_queues,
        "objects": subject.objects,
        "queues": subject.queues,
        "profile": subject.profile,
        "version": VERSION,
        **since,
        **(_looked(report.looked) if report.looked else {}),
    }


def _looked(looked: Looked) -> dict[str, Any]:
    return {
        "files": looked.files,
        "kinds": dict(looked.kinds),
        "passedOver": dict(looked.passed),
        "roots": list(looked.roots),
        "notRendered": list(looked.notes),
    }


def _moment(report: Report) -> dict[str, str]:
    moment = report.subject.as_of
    return {"asOf": f"{moment:%Y-%m-%dT%H:%M:%SZ}"} if moment else {}


def _summary(report: Report) -> dict[str, int]:
    counts = {
        "error": report.count(Severity.ERROR),
        "warning": report.count(Severity.WARNING),
        "info": report.count(Severity.INFO),
        "notEvaluated": len(report.not_evaluated),
        "baselined": report.baselined,
    }
    return {name: count for name, count in counts.items() if count or name not in ("info", "baselined")}


def _finding_json(entry: ReportEntry, fingerprint: str) -> dict[str, Any]:
    finding = entry.judged.finding
    fields = {
        **_problem_json(entry),
        "causes": [_cause(cause) for cause in entry.causes],
        "consequences": list(map(_problem_json, entry.consequences)),
        "fix": finding.fix,
        "fingerprint": fingerprint,
    }
    return {**fields, "patch": [dict(operation) for operation in finding.patch]} if finding.patch else fields


def _problem_json(entry: ReportEntry) -> dict[str, Any]:
    return {
        "rule": entry.judged.rule.id,
        "severity": entry.judged.severity.value,
        "message": entry.judged.finding.message,
        "object": _object(entry.object),
        "field": entry.judged.finding.field,
        **place_json(entry.place),
    }


def _cause(cause: LocatedCause) -> dict[str, Any]:
    return {
        "object": _object(cause.object),
        "field": cause.cause.field,
        "message": cause.cause.message,
        **(place_json(cause.place) if cause.place else {}),
    }


def _object(identity: ReportedObject) -> dict[str, str]:
    return {
        "apiVersion": identity.api_version,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
    }


def place_json(place: SourcePlace) -> dict[str, Any]:
    overlay = {"overlay": place.overlay} if place.overlay else {}
    return {"file": place.file, "line": place.line, "column": place.column, **overlay}


def unreadable_json(item: Unreadable) -> dict[str, Any]:
    return {**place_json(item.place), "message": item.message}


def details(entry: ReportEntry) -> list[str]:
    """The causes, the fix and the consequences, one line each."""
    fix = entry.judged.finding.fix
    return [*map(cause_line, entry.causes), *([f"fix: {plain(fix)}"] if fix else ()), *consequence_lines(entry.judged)]


def paragraph(entry: ReportEntry) -> str:
    """The finding with its causes and its fix, on several lines."""
    return "\n".join([without_fix(entry.judged), *details(entry)])


def annotated(entry: ReportEntry) -> str:
    """The message, with the kustomization if the finding has no place in a file."""
    return "\n".join(filter(None, [paragraph(entry), rendered(entry.place)]))


def relative(file: str, folder: str) -> str:
    """The path that services show: relative to the folder that the command runs in, without `./`.

    That folder should be the root of the repository. The path of a file outside of it is not changed.
    """
    if not file or file == STDIN:
        return file
    inner = os.path.relpath(file, folder) if folder and file.startswith("/") else os.path.normpath(file)
    return file if inner.startswith("../") else inner
