"""An audit as text: the trees with their findings, worst first, and the counts."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output import paint, some
from cli.report.as_text import COLOURS, closing, reason_lines, severities, without_fix
from cli.report.audits.audited import ShownAudit
from policies.audit.audited import AuditedFinding as Found
from policies.audit.audited import TreeFindings
from policies.audit.roots import TreeRoot
from policies.model.findings import Cause
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
    yield from (f"      {_cause(cause)}" for cause in judged.finding.causes)
    if judged.finding.fix:
        yield f"      fix: {plain(judged.finding.fix)}"


def _cause(cause: Cause) -> str:
    return plain(f"{cause.object}: {cause.field}: {cause.message}")
