"""A safe order as text: steps, waves, and why one step is not enough."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.rollout import Rollout
from cli.output import some
from policies.judging.sentence import sentence
from policies.model.change import ChangeOperation
from policies.model.printing import plain
from policies.rollout.edits import Edit
from policies.rollout.order import Stuck

VERBS = {ChangeOperation.CREATE: "create", ChangeOperation.UPDATE: "update", ChangeOperation.DELETE: "delete"}


def rollout_text(rollout: Rollout) -> str:
    return "\n".join(plain(line) for line in _lines(rollout))


def _lines(rollout: Rollout) -> Iterator[str]:
    yield f"compared with {rollout.change.was}: {head_line(rollout)}"
    if not rollout.verdict.allowed:
        yield from (f"  {sentence(judged)} [{judged.rule.id}]" for judged in rollout.refusals)
        return
    yield from _reasons("one step is not enough", rollout.order.blocked)
    for number, step in enumerate(rollout.steps, start=1):
        yield ""
        yield f"step {number}:"
        for wave, edits in enumerate(step.waves):
            yield f"  wave {wave}:"
            yield from (f"    {_edit(edit)}" for edit in edits)
        if step.deletions:
            yield "  then, in this order:"
            yield from (f"    {_edit(edit)}" for edit in step.deletions)
    yield from _reasons("no order was found for these", rollout.order.stuck)


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


def _reasons(heading: str, found: tuple[Stuck, ...]) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield f"{heading}:"
    for stuck in found:
        yield f"  {VERBS[stuck.edit.operation]} {stuck.edit.ref} is refused:"
        yield from (f"    {sentence(judged)} [{judged.rule.id}]" for judged in stuck.refusals)
