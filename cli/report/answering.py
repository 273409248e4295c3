"""Makes a report from inputs and options, for `validate` and the other commands that judge in the same way."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from analysis.context import Context, Revision
from analysis.documents import Document
from analysis.inputs import InputObjects, identify
from analysis.judgement import judge
from analysis.repeated import of_repeated
from analysis.report import Looked, Report, merged, report, unjudged, with_entries
from cli.exits import OutOfReach
from cli.input.folders import PassedOver, PassedOverReason
from cli.input.hidden import declaring, hidden, sentence
from cli.input.question import ValidationQuestion
from cli.input.roots import FoundRoot, Surveyed, context_of, contexts_of, survey_roots, together
from cli.input.selection import InputSelection
from cli.input.settings import installed_beside, settings
from cli.input.survey import survey
from cli.output import note, note_internal
from cli.progress import stage
from policies.configuration.settings import Configuration
from policies.judging.rule import Proposal
from policies.judging.verdict import Unjudged
from policies.model.objects import Ref
from policies.rules import registry


@dataclass(frozen=True, slots=True)
class Answered:
    """A report, with one proposal for each root. `proposals` is empty if the context could not be read."""

    report: Report
    proposals: tuple[Proposal, ...]


def answer(selection: InputSelection, question: ValidationQuestion) -> Answered:
    """The report about these inputs. It lists unreadable inputs. Raises Misused and OutOfReach."""
    installed = installed_beside(question.against)
    configuration = settings(question.config, selection.places, question.profile, installed=installed)
    found = survey_roots(selection, question.config)
    looked, every = _looked(found), together(root.inputs for each in found for root in each.roots)
    try:
        contexts = contexts_of(found, question.against, configuration, every)
        stage("judging")
        answers = [
            one
            for each in found
            for one in _judged(each, question, configuration, contexts[each.against(question.against)])
        ]
    except OutOfReach as error:
        return Answered(replace(unjudged(every, question.against, configuration, error.message), looked=looked), ())
    whole = replace(merged([each for each, _ in answers]), looked=looked)
    return Answered(_only(whole, selection.only), tuple(proposal for _, proposal in answers))


def _judged(
    surveyed: Surveyed, question: ValidationQuestion, configuration: Configuration, context: Context
) -> Iterator[tuple[Report, Proposal]]:
    bases = _bases(surveyed, question.revision)
    kept = together(root.inputs for root in surveyed.roots) if question.prune else None
    declared = declaring(surveyed.found.passed)
    for root in surveyed.roots:
        there = context_of(root, context, configuration)
        revision, former = (bases.revision, bases.inputs[root.path]) if bases else (None, None)
        hides = bases.hidden if bases else {}
        if question.prune:
            hides = {it.ref: skipped for it in there.world.objects() if (skipped := declared(it.ref))}
        judgement = judge(root.inputs, there, configuration, prune=kept, base=former, hidden=hides)
        found = report(
            root.inputs, context, judgement, (revision, former) if revision and former else None, root.around
        )
        twice = of_repeated(
            root.inputs.repeated, judgement.proposal, {it.second.obj.ref for it in former.repeated} if former else ()
        )
        unseen = _unseen({ref: hides[ref] for ref in former.objects if ref in hides}) if former else ()
        found = replace(found, not_evaluated=(*found.not_evaluated, *unseen))
        yield with_entries(found, twice), judgement.proposal


def _unseen(hides: Mapping[Ref, PassedOver]) -> Iterator[Unjudged]:
    """The rules that would judge objects which the change hides, for each file that hides some."""
    for skipped in dict.fromkeys(hides.values()):
        refs = [ref for ref, by in hides.items() if by == skipped]
        reason, kinds = sentence(skipped, refs, "judged"), {ref.group_kind for ref in refs}
        yield from (Unjudged(rule, reason) for _, rule in sorted(registry().items()) if rule.kinds & kinds)


@dataclass(frozen=True, slots=True)
class _Bases:
    """The state before the change.

    inputs: the inputs at the revision, by the path of their root.
    hidden: those of their objects that only files which are skipped since the change may have.
    """

    revision: Revision
    inputs: Mapping[str, InputObjects]
    hidden: Mapping[Ref, PassedOver]


def _bases(surveyed: Surveyed, name: str | None) -> _Bases | None:
    """The state before the change; None without --base."""
    if name is None:
        return None
    from cli.input.external.revision import at_base  # here, since what runs programs loads slowly

    with at_base(name, surveyed.organisation.selection) as base:
        found = survey(base.selection)
        for item in base.named(InputObjects({}, tuple(found.unreadable), 0)).unreadable:
            note(f"{item}; its objects count as new")
        today = {base.moved(unit.path) for unit in surveyed.found.units}
        roots = {base.moved(root.path): root for root in surveyed.roots if root.path}
        documents: dict[str, list[Document]] = {root.path: [] for root in surveyed.roots}
        for unit in sorted(found.units, key=lambda unit: os.path.normpath(unit.path) not in today):
            documents[_root_of(os.path.normpath(unit.path), roots)] += unit.documents
        inputs = {root.path: identify(documents[root.path], (), root.inputs.objects) for root in surveyed.roots}
        now = {ref for root in surveyed.roots for ref in root.inputs.objects}
        gone = {ref: placed for each in inputs.values() for ref, placed in each.objects.items() if ref not in now}
        hides = hidden(gone, found.skipped, surveyed.found.skipped, base.moved)
        return _Bases(base.revision, {path: base.named(each) for path, each in inputs.items()}, hides)


def _root_of(path: str, roots: Mapping[str, FoundRoot]) -> str:
    around = (path, *map(str, PurePath(path).parents))
    return next((roots[each].path for each in around if each in roots), "")


def _looked(surveyed: Sequence[Surveyed]) -> Looked:
    every = [root.inputs for each in surveyed for root in each.roots]
    judged = {placed.document.source for inputs in every for placed in inputs.objects.values()}
    reasons = {document.source: PassedOverReason.OTHER_KINDS for inputs in every for document in inputs.rest}
    reasons |= {passed.file: passed.reason for each in surveyed for passed in each.found.passed}
    passed = Counter(str(reason) for file, reason in reasons.items() if file not in judged)
    kinds = Counter(ref.kind for inputs in every for ref in inputs.objects)
    paths = (each.name(root) for each in surveyed for root in each.filled)
    roots = [path and os.path.normpath(path) for path in paths]
    return Looked(
        files=sum(each.found.files for each in surveyed),
        judged=len(judged),
        kinds=_by_count(kinds),
        passed=_by_count(passed),
        roots=tuple(roots) if len(roots) > 1 or any(roots) else (),
        notes=tuple(line for each in surveyed for line in each.found.notes),
    )


def _by_count(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda it: (-it[1], it[0])))


def _only(found: Report, files: Sequence[str] | None) -> Report:
    """The report with only the findings and unreadable inputs in these files."""
    if files is None:
        return found
    wanted = {os.path.normpath(file) for file in files}
    return replace(
        found,
        entries=tuple(each for each in found.entries if os.path.normpath(each.place.file) in wanted),
        unreadable=tuple(each for each in found.unreadable if os.path.normpath(each.place.file) in wanted),
    )


def note_problems(found: Report) -> None:
    """Note on standard error: unreadable inputs, rules that failed, and whether there was nothing to judge."""
    for item in found.unreadable:
        note(str(item))
    for missed in found.not_evaluated:
        if missed.error is not None:
            note_internal(missed.error, f"rule {missed.rule.id} failed: ")
    if not found.subject.objects:
        others = f" ({found.subject.others} of other kinds)" if found.subject.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
