"""A safe order as a page: a row for each request, and why one step is not enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.rollout import Rollout
from cli.report.changes.rollout_text import VERBS, head_line
from cli.report.pages.page import Page, Table
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.rollout.edits import Edit
from policies.rollout.order import Stuck


def rollout_page(rollout: Rollout) -> Page:
    order = rollout.order
    tables = (
        Table("refused", ("rule", "finding"), list(map(_refusal, rollout.refusals))),
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
        yield from ((request, *_refusal(judged)) for judged in stuck.refusals)


def _refusal(judged: Judged) -> Sequence[str]:
    return judged.rule.id, sentence(judged)
