"""An audit as an answer for programs, as reports of the cluster, as a baseline, and as a page."""

from __future__ import annotations

from typing import Any

from cli.input import baseline as baselines
from cli.report.audits.audited import ShownAudit
from cli.report.audits.text import closing_line, head_line, heading
from cli.report.formats.yaml import document
from cli.report.pages.page import Page, Table
from policies.audit.as_json import findings_json
from policies.audit.audited import TreeFindings
from policies.audit.reports import reports
from policies.judging.sentence import statement
from policies.model.findings import Severity


def audit_answer(audited: ShownAudit) -> dict[str, Any]:
    return findings_json(audited.audit)


def as_reports(audited: ShownAudit) -> str:
    """The objects that `quotree serve audit` writes, as documents of YAML; empty where nothing fails."""
    return "\n---\n".join(map(document, reports(audited.audit)))


def as_baseline(audited: ShownAudit) -> str:
    """Its errors and warnings for --baseline; where there is a baseline already, what of that is still found."""
    found = audited.audit.baselined if audited.has_baseline else audited.audit.found
    every = (each for top in found for each in (top, *top.consequences))
    old = (each for each in every if each.judged.severity is not Severity.INFO)
    return baselines.written(baselines.entry(each.judged, each.fingerprint) for each in old)


def audit_page(audited: ShownAudit) -> Page:
    return Page(closing_line(audited), head_line(audited), tuple(map(_table, audited.audit.trees)))


def _table(tree: TreeFindings) -> Table:
    rows = [
        (each.judged.severity.value, each.judged.rule.id, str(each.object), statement(each.judged))
        for each in tree.found
    ]
    return Table(heading(tree.root), ("severity", "rule", "object", "message"), rows)
