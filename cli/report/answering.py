"""From inputs and options to a report: the way of `validate` and of all that judge as it does."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from cli.exits import OutOfReach
from cli.input.against import Against
from cli.input.context import Context, Revision, load
from cli.input.documents import Document
from cli.input.folders import Reason
from cli.input.given import NO_FILES, Given, identify, joined
from cli.input.question import Question
from cli.input.roots import Root, find_roots, whole
from cli.input.selection import Selection
from cli.input.settings import settings
from cli.input.survey import Survey, survey
from cli.input.workspace import Organisation, organisations
from cli.judgement import judge
from cli.output import note
from cli.progress import stage
from cli.report.merging import merged, with_entries
from cli.report.model import Looked, Report, report, unjudged
from cli.report.repeated import of_repeated
from policies.configuration.settings import Configuration
from policies.judge import State, stored_state
from policies.judging.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Answer:
    """`proposals` has one for each root; none where the context is out of reach, so that no rule could judge."""

    report: Report
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class _Surveyed:
    """An organisation, and the roots that it falls into. Of several the first is what nobody contradicts."""

    organisation: Organisation
    found: Survey
    roots: Sequence[Root]

    def against(self, question: Question) -> Against:
        """The command line overrides the configuration."""
        own = self.organisation.against
        return own if own is not None and question.against.kind == "nothing" else question.against

    @property
    def filled(self) -> list[Root]:
        """Those with something to judge; one at least."""
        return [root for root in self.roots if root.given.objects or root.given.unreadable] or list(self.roots[:1])


def answer(selection: Selection, question: Question) -> Answer:
    """The report about these inputs. What cannot be read is in it. Raises Misused, OutOfReach."""
    configuration = settings(question.config, selection.places, question.profile)
    surveyed = [_surveyed(each) for each in organisations(selection, question.config)]
    looked, every = _looked(surveyed), _together(root.given for each in surveyed for root in each.roots)
    try:
        contexts = _contexts(surveyed, question, configuration, every)
        stage("judging")
        answers = [
            one for each in surveyed for one in _judged(each, question, configuration, contexts[each.against(question)])
        ]
    except OutOfReach as error:
        return Answer(replace(unjudged(every, question.against, configuration, error.message), looked=looked), ())
    found = replace(merged([each for each, _ in answers]), looked=looked)
    return Answer(_only(found, selection.only), tuple(proposal for _, proposal in answers))


def _surveyed(organisation: Organisation) -> _Surveyed:
    found = survey(organisation.selection)
    return _Surveyed(organisation, found, whole(found) if organisation.name else find_roots(found))


def _together(every: Iterable[Given]) -> Given:
    found = NO_FILES
    for each in every:
        found = joined(found, each)
    return found


def _contexts(
    surveyed: Iterable[_Surveyed], question: Question, configuration: Configuration, every: Given
) -> dict[Against, Context]:
    """Each context is read once."""
    named = dict.fromkeys(each.against(question) for each in surveyed)
    return {it: load(it, configuration.yunikorn, every.objects) for it in named}


def _judged(
    surveyed: _Surveyed, question: Question, configuration: Configuration, context: Context
) -> Iterator[tuple[Report, Proposal]]:
    """The report about each root."""
    bases = _bases(surveyed, question.revision)
    kept = _together(root.given for root in surveyed.roots) if question.prune else None
    for root in surveyed.roots:
        there = _knowing(_with(context, root.around, configuration), root)
        revision, former = (bases[0], bases[1][root.path]) if bases else (None, None)
        judgement = judge(root.given, there, configuration, prune=kept, base=former)
        found = report(root.given, context, judgement, (revision, former) if revision and former else None, root.around)
        twice = of_repeated(
            root.given.repeated,
            judgement.proposal,
            {it.second.obj.ref for it in former.repeated} if former else (),
        )
        yield with_entries(found, twice), judgement.proposal


def _with(context: Context, around: Given, configuration: Configuration) -> Context:
    """The context with these files, as they would be stored."""
    if not around.objects:
        return context
    manifests = {ref: placed.document.manifest for ref, placed in around.objects.items()}
    world = context.world.put_all(placed.obj for placed in around.objects.values())
    state = stored_state(State(world, manifests), configuration)
    return replace(context, world=state.world, manifests={**context.manifests, **state.manifests})


def _knowing(context: Context, root: Root) -> Context:
    """In files a name stands for nothing only where no other root has it."""
    if not root.elsewhere or context.against.of_cluster:
        return context
    return replace(context, world=replace(context.world, known=context.world.known - root.elsewhere))


def _bases(surveyed: _Surveyed, name: str | None) -> tuple[Revision, Mapping[str, Given]] | None:
    """The revision, and the inputs there by the path of the root."""
    if name is None:
        return None
    from cli.input.external.revision import at_base  # here, since what runs programs loads slowly

    with at_base(name, surveyed.organisation.selection) as base:
        found = survey(base.selection)
        for item in base.named(Given({}, tuple(found.unreadable), 0)).unreadable:
            note(f"{item}; what it holds counts as new")
        today = {base.moved(unit.path) for unit in surveyed.found.units}
        roots = {base.moved(root.path): root for root in surveyed.roots if root.path}
        documents: dict[str, list[Document]] = {root.path: [] for root in surveyed.roots}
        for unit in sorted(found.units, key=lambda unit: os.path.normpath(unit.path) not in today):
            documents[_root_of(os.path.normpath(unit.path), roots)] += unit.documents
        given = {
            root.path: base.named(identify(documents[root.path], (), root.given.objects)) for root in surveyed.roots
        }
        return base.revision, given


def _root_of(path: str, roots: Mapping[str, Root]) -> str:
    around = (path, *map(str, PurePath(path).parents))
    return next((roots[each].path for each in around if each in roots), "")


def _looked(surveyed: Sequence[_Surveyed]) -> Looked:
    every = [root.given for each in surveyed for root in each.roots]
    judged = {placed.document.source for given in every for placed in given.objects.values()}
    reasons = {document.source: Reason.OTHER_KINDS for given in every for document in given.rest}
    reasons |= {passed.file: passed.reason for each in surveyed for passed in each.found.passed}
    passed = Counter(str(reason) for file, reason in reasons.items() if file not in judged)
    kinds = Counter(ref.kind for given in every for ref in given.objects)
    paths = (root.path or each.organisation.name for each in surveyed for root in each.filled)
    roots = [path and os.path.normpath(path) for path in paths]
    return Looked(
        files=sum(each.found.files for each in surveyed),
        judged=len(judged),
        kinds=_most_first(kinds),
        passed=_most_first(passed),
        roots=tuple(roots) if len(roots) > 1 or any(roots) else (),
        notes=tuple(line for each in surveyed for line in each.found.notes),
    )


def _most_first(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda it: (-it[1], it[0])))


def _only(found: Report, files: Sequence[str] | None) -> Report:
    """What is found in these files."""
    if files is None:
        return found
    wanted = {os.path.normpath(file) for file in files}
    return replace(
        found,
        entries=tuple(each for each in found.entries if os.path.normpath(each.place.file) in wanted),
        unreadable=tuple(each for each in found.unreadable if os.path.normpath(each.place.file) in wanted),
    )


def note_problems(found: Report) -> None:
    """Write to standard error what cannot be read, and that there is nothing to judge."""
    for item in found.unreadable:
        note(str(item))
    if not found.subject.objects:
        others = f" ({found.subject.others} of other kinds)" if found.subject.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
