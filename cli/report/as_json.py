"""The report as JSON. Its schema is docs/schemas/report.schema.json; a change of meaning needs a new apiVersion."""

from __future__ import annotations

from typing import Any

from analysis.documents import Place, Unreadable
from analysis.report import LocatedCause, Looked, Report, ReportedObject, ReportEntry
from cli.version import VERSION
from policies.model.findings import Severity

API_VERSION = "quotree.dev/v1alpha1"


def report_json(report: Report) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Report",
        "context": {**_context(report), **_moment(report)},
        "summary": _summary(report),
        "findings": list(map(_finding, report.entries, report.fingerprints)),
        "notEvaluated": [{"rule": missed.rule.id, "reason": missed.reason} for missed in report.not_evaluated],
        "unreadable": [_unreadable(item) for item in report.unreadable],
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


def _finding(entry: ReportEntry, fingerprint: str) -> dict[str, Any]:
    finding = entry.judged.finding
    fields = {
        **_said(entry),
        "causes": [_cause(cause) for cause in entry.causes],
        "consequences": list(map(_said, entry.consequences)),
        "fix": finding.fix,
        "fingerprint": fingerprint,
    }
    return {**fields, "patch": [dict(operation) for operation in finding.patch]} if finding.patch else fields


def _said(entry: ReportEntry) -> dict[str, Any]:
    """What is wrong, and where."""
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


def place_json(place: Place) -> dict[str, Any]:
    overlay = {"overlay": place.overlay} if place.overlay else {}
    return {"file": place.file, "line": place.line, "column": place.column, **overlay}


def _unreadable(item: Unreadable) -> dict[str, Any]:
    return {**place_json(item.place), "message": item.message}
