"""Applies the patches that rules propose to the texts of the inputs, unless a patch would cause another finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from analysis.context import Context
from analysis.documents import Document, Unreadable
from analysis.inputs import InputObjects, identify
from analysis.judgement import judge
from cli.input.rewriting import Operations, rewritten
from policies.configuration.settings import Configuration
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model import fields
from policies.model.findings import Severity
from policies.model.objects import Ref
from policies.text.yaml_edits import NoEdit

ROUNDS = 10
"""The maximum number of rounds. A patch may reveal another finding, or make another patch possible; more rounds would
mean that two rules disagree."""
_NOBODY = Ref("", "", "", "")


@dataclass(slots=True)
class Fixing:
    """The result of applying patches.

    `before`: the text of each file before.
    `texts`: the text of each file after.
    `done`: the findings that were fixed.
    `left`: the findings whose patch was not used, each with the reason: the patch cannot be written into the text, or
    would cause another finding.
    `foreign`: files with a patchable finding that must not be changed.
    `guesses`: the findings whose fix suggests a name, without a patch.
    `by_hand`: the number of all findings with a fix but without a patch.
    """

    before: dict[str, str]
    texts: dict[str, str]
    done: list[Judged] = field(default_factory=list)
    left: list[tuple[Judged, str]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    guesses: list[Judged] = field(default_factory=list)
    by_hand: int = 0

    def add(self, other: Fixing) -> None:
        self.before |= other.before
        self.texts |= other.texts
        self.done += other.done
        self.left += other.left
        self.foreign += other.foreign
        self.guesses += other.guesses
        self.by_hand += other.by_hand


def fixed(
    documents: Sequence[Document],
    faults: Sequence[Unreadable],
    context: Context,
    configuration: Configuration,
    foreign: Collection[str] = (),
) -> Fixing:
    """Apply every patch that can be written, fixes its finding and causes no other. `foreign` files are not changed."""
    work = _Work(_Files(documents, faults), context, configuration)
    before = work.files.texts()
    elsewhere: set[str] = set()
    for _ in range(ROUNDS):
        found = [(work.files.source(each.finding.object), each) for each in work.patchable()]
        elsewhere.update(source for source, _ in found if source in foreign)
        done = len(work.done)
        work.retry([each for source, each in found if source not in foreign])
        if len(work.done) == done:
            break
    return Fixing(before, work.files.texts(), work.done, work.left, sorted(elsewhere), work.guesses, work.by_hand)


class _CausesFindings(NoEdit):
    """Patches cause other findings. `reasons`: the object of a new finding to a sentence about it."""

    def __init__(self, findings: Sequence[Judged]) -> None:
        self.reasons = {
            each.finding.object: f"it would bring another finding: {sentence(each)} [{each.rule.id}]"
            for each in reversed(findings)
        }
        super().__init__(self.reasons[findings[0].finding.object])


class _Work:
    def __init__(self, files: _Files, context: Context, configuration: Configuration) -> None:
        self._context = context
        self._configuration = configuration
        self.files = files
        self.done: list[Judged] = []
        self.left: list[tuple[Judged, str]] = []
        self._findings = self._judged(files.inputs)

    def patchable(self) -> list[Judged]:
        """The findings with a patch, in the order of a report: errors and warnings without an exemption."""
        return [
            each
            for top in self._findings
            for each in (top, *(below for below in top.consequences if _is_same_slip(below, top)))
            if each.finding.edits
            and each.severity is not Severity.INFO
            and each.exemption is None
            and each.finding.object in self.files.inputs.objects
        ]

    @property
    def guesses(self) -> list[Judged]:
        return [each for each in self._suggested if each.finding.fix.startswith("did you mean")]

    @property
    def by_hand(self) -> int:
        return len(self._suggested)

    @property
    def _suggested(self) -> list[Judged]:
        return [each for each in self._findings if each.finding.fix and not each.finding.edits]

    def retry(self, wanted: Sequence[Judged]) -> None:
        """Apply these patches, also those that an earlier round left: another patch may have made them possible."""
        again = set(map(_stable_identity, wanted))
        self.left = [each for each in self.left if _stable_identity(each[0]) not in again]
        self.take(wanted)

    def take(self, wanted: Sequence[Judged]) -> None:
        """Apply these patches, all at once if that works.

        Otherwise try them in smaller groups, so that one bad patch takes only a few more judgements. Patches of objects
        that an earlier group has renamed wait for the next round.
        """
        wanted = [each for each in wanted if each.finding.object in self.files.inputs.objects]
        if not wanted:
            return
        try:
            self.files, self._findings = self._tried(wanted)
            self.done += wanted
        except _CausesFindings as worse:
            self._split(wanted, worse)
        except NoEdit as reason:
            self._try_halves(wanted, str(reason))

    def _split(self, wanted: Sequence[Judged], worse: _CausesFindings) -> None:
        """Try objects with new findings separately from the others.

        If several objects have new findings and each has a single patch, these patches are given up.
        """
        guilty = [each for each in wanted if each.finding.object in worse.reasons]
        if len(guilty) < 2 or len({each.finding.object for each in guilty}) < len(guilty):
            self._try_halves(wanted, str(worse))
        elif len(guilty) < len(wanted):
            self.take([each for each in wanted if each.finding.object not in worse.reasons])
            self.take(guilty)
        else:
            self.left += ((each, worse.reasons[each.finding.object]) for each in guilty)

    def _try_halves(self, wanted: Sequence[Judged], reason: str) -> None:
        if len(wanted) == 1:
            self.left.append((wanted[0], reason))
        else:
            half = len(wanted) // 2
            self.take(wanted[:half])
            self.take(wanted[half:])

    def _tried(self, wanted: Sequence[Judged]) -> tuple[_Files, list[Judged]]:
        """The inputs and findings after these patches. Raises NoEdit if one cannot be written or does not help."""
        patches: dict[Ref, list[Mapping[str, object]]] = {}
        for each in wanted:
            edits = patches.setdefault(each.finding.object, [])
            edits += [edit for edit in each.finding.edits if edit not in edits]  # one edit may fix several findings
        files = self.files.patched(patches)
        if len(files.inputs.repeated) > len(self.files.inputs.repeated):
            raise NoEdit(f"{files.inputs.repeated[-1].first.obj.ref} would occur twice")
        findings = self._judged(files.inputs)
        new = files.inputs.objects.keys() - self.files.inputs.objects.keys()
        before, after = (
            Counter(map(_stable_identity, _with_consequences(each))) for each in (self._findings, findings)
        )
        worse = [
            each
            for each in findings
            if each.finding.object not in new
            and _stable_identity(each) in after - before
            and not _was_hidden(each, patches)
        ]
        if worse:
            raise _CausesFindings(worse)
        if any(after[_stable_identity(each)] >= before[_stable_identity(each)] for each in wanted):
            raise NoEdit("the finding would stay")
        return files, findings

    def _judged(self, inputs: InputObjects) -> list[Judged]:
        if not inputs.objects:
            return []
        return list(judge(inputs, self._context, self._configuration).verdict.complete().findings)


def _is_same_slip(one: Judged, other: Judged) -> bool:
    """Whether two findings are about the same wrong name in different places, so that each needs its own patch."""
    return one.rule.id == other.rule.id and bool(one.finding.subject) and one.finding.subject == other.finding.subject


def _with_consequences(findings: Iterable[Judged]) -> Iterator[Judged]:
    """The findings and their consequences. A consequence that becomes a finding of its own is not new."""
    for each in findings:
        yield each
        yield from each.consequences


def _was_hidden(judged: Judged, patches: Mapping[Ref, Sequence[Mapping[str, object]]]) -> bool:
    """Whether the finding is inside a field whose name was wrong, so that no rule read it before the patch."""
    steps = fields.steps(judged.finding.field) or ()
    inside = {fields.pointer(*steps[:depth]) for depth in range(1, len(steps))}
    moves = (each for each in patches.get(judged.finding.object, ()) if each["op"] == "move")
    return any(not str(each["path"]).rpartition("/")[2].isdigit() and each["path"] in inside for each in moves)


def _stable_identity(judged: Judged) -> tuple[object, ...]:
    """The identity of the finding without list indices, since a patch may change the order of a list."""
    return judged.severity, *judged.lasting


class _Files:
    """The documents of the inputs, file by file, in the order in which they were read."""

    def __init__(self, documents: Sequence[Document], faults: Sequence[Unreadable]) -> None:
        self.documents = documents
        self.faults = faults
        self.inputs = identify(documents, faults)

    def patched(self, patches: Mapping[Ref, Operations]) -> _Files:
        """The files with the patches applied. Raises NoEdit."""
        refs = {id(placed.document): ref for ref, placed in self.inputs.objects.items()}
        changed = set(map(self.source, patches))
        documents: list[Document] = []
        for source, found in groupby(self.documents, key=lambda document: document.source):
            before = list(found)
            if source in changed:
                own = {at: patches.get(refs.get(id(each), _NOBODY), ()) for at, each in enumerate(before)}
                unreadable = sum(fault.place.file == source for fault in self.faults)
                documents += rewritten(before, {at: patch for at, patch in own.items() if patch}, unreadable)
            else:
                documents += before
        return _Files(documents, self.faults)

    def source(self, ref: Ref) -> str:
        return self.inputs.objects[ref].document.source

    def texts(self) -> dict[str, str]:
        """The text of each file by its name, without a byte order mark."""
        return {document.source: document.region.outline.text for document in self.documents}
