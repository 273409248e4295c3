"""Writes the findings of an audit as JSON, in the same form for `quotree audit -o json` and for /v1/findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policies.audit.audited import Audit, AuditedFinding
from policies.audit.roots import TreeRoot
from policies.judging.sentence import flat
from policies.model.findings import Severity

API_VERSION = "quotree.dev/v1alpha1"


def findings_json(audit: Audit, offset: int = 0, limit: int | None = None) -> dict[str, Any]:
    """The findings of an audit as JSON, the worst first, then by tree. The audit must have only findings that the
    reader may see.

    `roots` has the counts of all findings. `items` has at most `limit` findings, from `offset` on. Baselined findings
    are only counted.
    """
    found = sorted(audit.found, key=lambda each: each.judged.severity.rank)
    shown = found[offset:] if limit is None else found[offset : offset + limit]
    return {
        "apiVersion": API_VERSION,
        "kind": "FindingList",
        "judged": f"{audit.at:%Y-%m-%dT%H:%M:%SZ}",
        "items": [item_json(each) for each in shown],
        "roots": roots_json(found),
        "baselined": len(audit.baselined),
        "notEvaluated": [{"rule": missed.rule.id, "reason": missed.reason} for missed in audit.not_evaluated],
    }


def item_json(audited: AuditedFinding) -> dict[str, Any]:
    judged, ref = audited.judged, audited.object
    return {
        "rule": judged.rule.id,
        "severity": judged.severity.value,
        "dialect": audited.dialect.value,
        "root": root_json(audited.root),
        "object": {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name},
        "field": judged.finding.field,
        "message": flat(judged.finding.message),
        **({"fix": flat(judged.finding.fix)} if judged.finding.fix else {}),
        "fingerprint": audited.fingerprint,
    }


def roots_json(found: Iterable[AuditedFinding]) -> list[dict[str, Any]]:
    """The number of findings in each tree, in the order of the findings."""
    trees: dict[TreeRoot, list[AuditedFinding]] = {}
    for each in found:
        if each.root is not None:
            trees.setdefault(each.root, []).append(each)
    return [
        {
            "root": root_json(root),
            "dialect": root.dialect.value,
            "findings": len(those),
            "errors": sum(each.judged.severity is Severity.ERROR for each in those),
            "warnings": sum(each.judged.severity is Severity.WARNING for each in those),
        }
        for root, those in trees.items()
    ]


def root_json(root: TreeRoot | None) -> dict[str, str] | None:
    return {"kind": root.kind, "name": root.name} if root else None
