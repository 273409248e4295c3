"""Renders GitLab's code quality report. The format cannot show a head line or rules that were not evaluated."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from analysis.documents import SourcePlace, Unreadable
from analysis.report import Report
from cli.output import json_text
from cli.report.reports import relative, rendered
from policies.judging.sentence import sentence
from policies.model.findings import Severity
from policies.model.printing import plain

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    issues = [
        {
            "description": " - ".join(filter(None, [sentence(entry.judged), rendered(entry.place)])),
            "check_name": entry.judged.rule.id,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[entry.judged.severity],
            "location": _location(entry.place, report.folder),
        }
        for entry, fingerprint in zip(report.entries, report.fingerprints, strict=True)
    ]
    return json_text([*issues, *(_unreadable(item, report.folder) for item in report.unreadable)])


def _unreadable(item: Unreadable, folder: str) -> dict[str, Any]:
    known = f"unreadable\n{item}".encode(errors="backslashreplace")
    return {
        "description": f"unreadable: {plain(item.message)}",
        "check_name": "unreadable",
        "fingerprint": sha256(known).hexdigest(),
        "severity": "blocker",
        "location": _location(item.place, folder),
    }


def _location(place: SourcePlace, folder: str) -> dict[str, Any]:
    return {"path": plain(relative(place.file, folder)), "lines": {"begin": place.line}}
