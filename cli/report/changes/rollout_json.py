"""A safe order as JSON. Its schema is docs/schemas/order.schema.json; a change of meaning needs a new apiVersion."""

from __future__ import annotations

from typing import Any

from analysis.rollout import Rollout
from cli.report.as_json import place_json
from policies.judging.sentence import statement
from policies.judging.verdict import Judged
from policies.rollout.edits import Edit
from policies.rollout.order import Stuck

API_VERSION = "quotree.dev/v1alpha1"


def rollout_answer(rollout: Rollout) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Order",
        "comparedWith": rollout.change.was,
        "allowed": rollout.verdict.allowed,
        "refusals": list(map(_refusal, rollout.refusals)),
        "steps": [
            {"waves": [list(map(_edit, wave)) for wave in step.waves], "deletions": list(map(_edit, step.deletions))}
            for step in rollout.steps
        ],
        "blocked": list(map(_stuck, rollout.order.blocked)),
        "stuck": list(map(_stuck, rollout.order.stuck)),
        "unreadable": [{**place_json(item.place), "message": item.message} for item in rollout.change.unreadable],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    """`manifest` is only there for an intermediate version, which is in no file."""
    found: dict[str, Any] = {"operation": str(edit.operation), **edit.ref._asdict(), "intermediate": edit.detour}
    return {**found, "manifest": edit.after.manifest} if edit.detour and edit.after else found


def _stuck(stuck: Stuck) -> dict[str, Any]:
    edit = stuck.edit
    return {
        "operation": str(edit.operation),
        **edit.ref._asdict(),
        "refusals": list(map(_refusal, stuck.refusals)),
    }


def _refusal(judged: Judged) -> dict[str, str]:
    return {"rule": judged.rule.id, "object": str(judged.finding.object), "message": statement(judged)}
