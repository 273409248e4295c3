"""The nodes of trees as JSON."""

from __future__ import annotations

from typing import Any

from cli.report.quotas import QuotaRow, Quotas
from cli.report.trees import DrawnNode
from policies.dialects import kueue, volcano
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.yunikorn.usage import Applications

DIALECTS = {kueue.GROUP: "Kueue", volcano.GROUP: "Volcano"}


def dialect_of(ref: Ref) -> str:
    return DIALECTS[ref.group]


def node_entry(forest: Forest, quotas: Quotas, drawn: DrawnNode) -> dict[str, Any]:
    """A queue or a Cohort."""
    node = forest.node(drawn.ref)
    return {
        **_named(drawn.ref, dialect_of(drawn.ref)),
        "exists": node is not None,
        "parent": node.parent.name if node and node.parent else None,
        "children": [child.ref.name for child in forest.children(drawn.ref)],
        "quota": _rows(quotas.rows(drawn.ref)),
        **{counted: dict(by_state) for counted, by_state in quotas.counts(drawn.ref).items()},
    }


def namespace_entry(
    ref: Ref, parent: str | None, quota: list[QuotaRow], applications: Applications | None = None
) -> dict[str, Any]:
    """A Namespace with a quota of YuniKorn."""
    counts = {"applications": applications._asdict()} if applications is not None else {}
    return {**_named(ref, "YuniKorn"), "parent": parent, "quota": _rows(quota), **counts}


def _named(ref: Ref, dialect: str) -> dict[str, Any]:
    return {"dialect": dialect, "kind": ref.kind, "name": ref.name}


def _rows(quota: list[QuotaRow]) -> list[dict[str, Any]]:
    return [
        {"flavor": row.flavor, "resource": row.resource, "own": dict(row.own), "children": dict(row.below)}
        for row in quota
    ]
