"""Renders a safe order of a change as text, tables, and JSON (docs/schemas/order.schema.json)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analysis.rollout import Rollout
from cli.output import some
from cli.report.formats.page import Page, Table
from cli.report.reports import API_VERSION, unreadable_json
from policies.judging.sentence import sentence, statement
from policies.judging.verdict import Judged
from policies.model.change import ChangeOperation
from policies.model.printing import plain
from policies.rollout.edits import Edit
from policies.rollout.order import Stuck

VERBS = {ChangeOperation.CREATE: "create", ChangeOperation.UPDATE: "update", ChangeOperation.DELETE: "delete"}


def as_text(rollout: Rollout) -> str:
    return "\n".join(plain(line) for line in _lines(rollout))


def _lines(rollout: Rollout) -> Iterator[str]:
    yield f"compared with {rollout.change.was}: {head_line(rollout)}"
    if not rollout.verdict.allowed:
        yield from (f"  {sentence(judged)} [{judged.rule.id}]" for judged in rollout.refusals)
        return
    yield from _stuck_lines("one step is not enough", rollout.order.blocked)
    for number, step in enumerate(rollout.steps, start=1):
        yield ""
        yield f"step {number}:"
        for wave, edits in enumerate(step.waves):
            yield f"  wave {wave}:"
            yield from (f"    {_edit(edit)}" for edit in edits)
        if step.deletions:
            yield "  then, in this order:"
            yield from (f"    {_edit(edit)}" for edit in step.deletions)
    yield from _stuck_lines("no order was found for these", rollout.order.stuck)


def head_line(rollout: Rollout) -> str:
    if not rollout.verdict.allowed:
        return "the change as a whole is refused, so no order of it is safe"
    if not rollout.steps and not rollout.order.stuck:
        return "nothing to apply"
    count = sum(not edit.detour for edit in rollout.order.edits)
    return f"{some(count, 'object')} in {some(len(rollout.steps), 'step')}"


def _edit(edit: Edit) -> str:
    between = ", an intermediate version" if edit.detour else ""
    return f"{VERBS[edit.operation]} {edit.ref}{between}"


def _stuck_lines(heading: str, found: tuple[Stuck, ...]) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield f"{heading}:"
    for stuck in found:
        yield f"  {VERBS[stuck.edit.operation]} {stuck.edit.ref} is refused:"
        yield from (f"    {sentence(judged)} [{judged.rule.id}]" for judged in stuck.refusals)


def as_page(rollout: Rollout) -> Page:
    order = rollout.order
    tables = (
        Table("refused", ("rule", "finding"), list(map(_refusal_row, rollout.refusals))),
        Table("why one step is not enough", ("request", "rule", "refused for"), list(_refused(order.blocked))),
        Table("order", ("step", "wave", "request", "object", ""), list(_requests(rollout))),
        Table("no order was found for these", ("request", "rule", "refused for"), list(_refused(order.stuck))),
    )
    return Page(head_line(rollout), f"compared with {rollout.change.was}", tables)


def _requests(rollout: Rollout) -> Iterator[Sequence[str]]:
    for number, step in enumerate(rollout.steps, start=1):
        for wave, edits in enumerate(step.waves):
            yield from (_request(number, str(wave), edit) for edit in edits)
        yield from (_request(number, "then", edit) for edit in step.deletions)


def _request(step: int, wave: str, edit: Edit) -> Sequence[str]:
    note = "an intermediate version" if edit.detour else ""
    return str(step), wave, VERBS[edit.operation], str(edit.ref), note


def _refused(found: Iterable[Stuck]) -> Iterator[Sequence[str]]:
    for stuck in found:
        request = f"{VERBS[stuck.edit.operation]} {stuck.edit.ref}"
        yield from ((request, *_refusal_row(judged)) for judged in stuck.refusals)


def _refusal_row(judged: Judged) -> Sequence[str]:
    return judged.rule.id, sentence(judged)


def as_json(rollout: Rollout) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "Order",
        "comparedWith": rollout.change.was,
        "allowed": rollout.verdict.allowed,
        "refusals": list(map(_refusal, rollout.refusals)),
        "steps": [
            {
                "waves": [list(map(_edit_json, wave)) for wave in step.waves],
                "deletions": list(map(_edit_json, step.deletions)),
            }
            for step in rollout.steps
        ],
        "blocked": list(map(_stuck_json, rollout.order.blocked)),
        "stuck": list(map(_stuck_json, rollout.order.stuck)),
        "unreadable": list(map(unreadable_json, rollout.change.unreadable)),
    }


def _edit_json(edit: Edit) -> dict[str, Any]:
    """The edit as JSON. Only an intermediate version has a `manifest`, since it is in no file."""
    found: dict[str, Any] = {"operation": str(edit.operation), **edit.ref._asdict(), "intermediate": edit.detour}
    return {**found, "manifest": edit.after.manifest} if edit.detour and edit.after else found


def _stuck_json(stuck: Stuck) -> dict[str, Any]:
    edit = stuck.edit
    return {
        "operation": str(edit.operation),
        **edit.ref._asdict(),
        "refusals": list(map(_refusal, stuck.refusals)),
    }


def _refusal(judged: Judged) -> dict[str, str]:
    return {"rule": judged.rule.id, "object": str(judged.finding.object), "message": statement(judged)}
