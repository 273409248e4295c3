"""Renders an audit as text, tables, JSON, OpenReports objects, and a baseline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cli.input import baseline as baselines
from cli.output import paint, some
from cli.report.audited import ShownAudit
from cli.report.formats.page import Page, Table
from cli.report.formats.yaml import document
from cli.report.reports import COLOURS, closing, reason_lines, severities, without_fix
from policies.audit.as_json import findings_json
from policies.audit.audited import AuditedFinding as Found
from policies.audit.audited import TreeFindings
from policies.audit.reports import reports
from policies.audit.roots import TreeRoot
from policies.judging.sentence import statement
from policies.model.findings import Severity
from policies.model.printing import plain

_NAMES = {"kueue": "Kueue", "volcano": "Volcano", "yunikorn": "YuniKorn"}


def as_text(audited: ShownAudit) -> str:
    audit = audited.audit
    lines = [head_line(audited)]
    for tree in audit.trees:
        lines.append(f"{plain(heading(tree.root))}: {counts(tree)}")
        lines += [line for found in tree.found for line in _finding_lines(found)]
    return "\n".join([*lines, *reason_lines(audit.not_evaluated), closing_line(audited)])


def head_line(audited: ShownAudit) -> str:
    moment = f" as of {audited.as_of:%Y-%m-%dT%H:%M:%SZ}" if audited.as_of else ""
    audit = audited.audit
    return plain(f"audited {audited.against}{moment}: {some(audit.objects, 'object')}, {some(audit.nodes, 'queue')}")


def heading(root: TreeRoot | None) -> str:
    return f"{root} ({_NAMES[root.dialect]})" if root else "in no tree"


def closing_line(audited: ShownAudit) -> str:
    audit = audited.audit
    return closing(audit.count, audit.not_evaluated, len(audit.baselined), len(audited.unreadable))


def counts(tree: TreeFindings) -> str:
    return ", ".join(severities(tree.count))


def _finding_lines(found: Found) -> Iterator[str]:
    """The lines of a finding as `quotree validate` prints them, without a file."""
    judged = found.judged
    word = paint(judged.severity.value, COLOURS[judged.severity])
    yield f"  {word}[{judged.rule.id}]: {without_fix(judged)}"
    yield from (plain(f"      {cause.object}: {cause.field}: {cause.message}") for cause in judged.finding.causes)
    if judged.finding.fix:
        yield f"      fix: {plain(judged.finding.fix)}"


def as_json(audited: ShownAudit) -> dict[str, Any]:
    return findings_json(audited.audit)


def as_reports(audited: ShownAudit) -> str:
    """The report objects that `quotree serve audit` would write, as YAML documents; empty if nothing fails."""
    return "\n---\n".join(map(document, reports(audited.audit)))


def as_baseline(audited: ShownAudit) -> str:
    """A baseline with the errors and warnings. If a baseline was applied, its entries that are still found."""
    found = audited.audit.baselined if audited.has_baseline else audited.audit.found
    every = (each for top in found for each in (top, *top.consequences))
    old = (each for each in every if each.judged.severity is not Severity.INFO)
    return baselines.baseline_text(baselines.entry(each.judged, each.fingerprint) for each in old)


def as_page(audited: ShownAudit) -> Page:
    return Page(closing_line(audited), head_line(audited), tuple(map(_table, audited.audit.trees)))


def _table(tree: TreeFindings) -> Table:
    rows = [
        (each.judged.severity.value, each.judged.rule.id, str(each.object), statement(each.judged))
        for each in tree.found
    ]
    return Table(heading(tree.root), ("severity", "rule", "object", "message"), rows)
