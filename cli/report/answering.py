"""From inputs and options to a report: the way of `validate` and of all that judge as it does."""

from __future__ import annotations

from dataclasses import dataclass

from cli.exits import OutOfReach
from cli.input.context import Revision, load
from cli.input.given import Given
from cli.input.question import Question
from cli.input.selection import Selection, read
from cli.input.settings import settings
from cli.judgement import judge
from cli.output import note
from cli.report.model import Report, report, unjudged
from policies.judging.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Answer:
    """`proposal` is None where the context is out of reach, so that no rule could judge anything."""

    report: Report
    proposal: Proposal | None


def answer(selection: Selection, question: Question) -> Answer:
    """The report about these inputs. What cannot be read is in it. Raises Misused, OutOfReach."""
    configuration = settings(question.config, selection.places, question.profile)
    files = read(selection)
    try:
        base = _base(question.revision, selection, files)
        context = load(question.against, configuration.yunikorn, files.objects)
        former = base[1] if base else None
        judgement = judge(files, context, configuration, prune=question.prune, base=former)
    except OutOfReach as error:
        return Answer(unjudged(files, question.against, configuration, error.message), None)
    return Answer(report(files, context, judgement, base), judgement.proposal)


def _base(revision: str | None, selection: Selection, files: Given) -> tuple[Revision, Given] | None:
    if revision is None:
        return None
    from cli.input.external.revision import read_base  # here, since what runs programs loads slowly

    commit, inputs = read_base(revision, selection, files.objects)
    for item in inputs.unreadable:
        note(f"{item}; what it holds counts as new")
    return commit, inputs


def note_problems(found: Report) -> None:
    """Write to standard error what cannot be read, and that there is nothing to judge."""
    for item in found.unreadable:
        note(str(item))
    if not found.subject.objects:
        others = f" ({found.subject.others} of other kinds)" if found.subject.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
