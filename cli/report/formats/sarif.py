"""Renders SARIF 2.1.0 for code scanning. A fingerprint identifies a finding in all commits."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from analysis.documents import SourcePlace
from analysis.report import LocatedCause, Report, ReportEntry
from cli.output import json_text
from cli.report.reports import annotated, head_line, relative, rendered
from cli.version import VERSION
from policies.judging.rule import Rule
from policies.model.findings import SEVERITY, Severity
from policies.model.objects import joined
from policies.model.printing import plain

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RESULTS = 25_000
"""Results of one run; GitHub refuses a file with more. It shows 5 000 of them."""
_RELATED_LOCATIONS = 100
"""Related locations of one result that GitHub shows. It refuses more than 1 000."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    rules = {judged.rule.id: judged.rule for judged in (entry.judged for entry in report.entries)}
    rules |= {missed.rule.id: missed.rule for missed in report.not_evaluated}
    numbers = {rule: number for number, rule in enumerate(rules)}
    found = zip(report.entries[:_RESULTS], report.fingerprints, strict=False)
    run = {
        "tool": {"driver": {"name": "quotree", "version": VERSION, "rules": list(map(_rule, rules.values()))}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": [_result(entry, numbers, fingerprint, report.folder) for entry, fingerprint in found],
        "properties": {"head": head_line(report)},
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.reason,
        "shortDescription": {"text": _escaped(rule.title)},
        "help": {"text": _escaped(rule.page)},
        "defaultConfiguration": {"level": _LEVELS[SEVERITY.get(rule.default, Severity.INFO)]},
    }


def _invocation(report: Report) -> dict[str, Any]:
    """SARIF's entry about what is missing: unreadable inputs, rules that were not evaluated, and excess findings."""
    problems: list[dict[str, Any]] = [
        {
            "level": "error",
            "message": _message(f"unreadable: {plain(item.message)}"),
            "locations": [{"physicalLocation": _physical(item.place, report.folder)}],
        }
        for item in report.unreadable
    ]
    if (more := len(report.entries) - _RESULTS) > 0:
        problems.append({"level": "warning", "message": _message(f"{more} more findings are left out")})
    missed = [
        {
            "level": "error" if each.error else "note",
            "message": _message(f"not evaluated: {plain(each.reason)}"),
            "associatedRule": {"id": each.rule.id},
        }
        for each in report.not_evaluated
    ]
    return {
        "executionSuccessful": not report.unreadable and not any(each.error for each in report.not_evaluated),
        "toolExecutionNotifications": problems,
        "toolConfigurationNotifications": missed,
    }


def _result(entry: ReportEntry, numbers: dict[str, int], fingerprint: str, folder: str) -> dict[str, Any]:
    judged, object = entry.judged, entry.object
    name = plain(joined(object.namespace, object.name))
    related = [cause for cause in entry.causes if cause.place][:_RELATED_LOCATIONS]
    return {
        "ruleId": judged.rule.id,
        "ruleIndex": numbers[judged.rule.id],
        "level": _LEVELS[judged.severity],
        "message": _message(annotated(entry)),
        "locations": [
            {
                "physicalLocation": _physical(entry.place, folder),
                "logicalLocations": [
                    {"name": name, "fullyQualifiedName": plain(f"{judged.finding.object}: {judged.finding.field}")}
                ],
            }
        ],
        "relatedLocations": [_related(number, cause, folder) for number, cause in enumerate(related, 1)],
        "partialFingerprints": {"quotree/v1": fingerprint},
    }


def _related(number: int, cause: LocatedCause, folder: str) -> dict[str, Any]:
    assert cause.place is not None
    made = f" ({rendered(cause.place)})" if cause.place.overlay else ""
    message = plain(f"{cause.cause.object}: {cause.cause.field}: {cause.cause.message}{made}")
    return {"id": number, "physicalLocation": _physical(cause.place, folder), "message": _message(message)}


def _physical(place: SourcePlace, folder: str) -> dict[str, Any]:
    return {
        "artifactLocation": _artifact(relative(place.file, folder)),
        "region": {"startLine": place.line, "startColumn": place.column},
    }


def _artifact(file: str) -> dict[str, str]:
    uri = quote(os.fsencode(file))
    return {"uri": f"file://{uri}"} if PurePosixPath(file).is_absolute() else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _message(text: str) -> dict[str, str]:
    return {"text": _escaped(text)}


def _escaped(text: str) -> str:
    """The text, changed so that a viewer does not show `[text](target)` as a link."""
    return text.replace("](", "] (")
