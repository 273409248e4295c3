"""The report of a judgement, and of several roots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from analysis.context import Context, Revision
from analysis.context_name import ContextName
from analysis.documents import SourcePlace, Unreadable
from analysis.inputs import NO_FILES, InputObjects, joined
from analysis.places import InputPlaces
from policies.configuration.settings import Configuration
from policies.dialects.newest import newest_version
from policies.dialects.yunikorn_config.configmap import count_queues
from policies.judge import Judgement
from policies.judging.fingerprint import fingerprints
from policies.judging.rule import Proposal
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import Cause, Severity
from policies.model.objects import Ref
from policies.rules import registry


@dataclass(frozen=True, slots=True)
class ReportedObject:
    """An object as reports name it. `namespace`: empty for cluster-scoped kinds."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class LocatedCause:
    """A cause. `place`: None if its object is not among the inputs."""

    cause: Cause
    object: ReportedObject
    place: SourcePlace | None


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """A finding. `consequences`: the findings that follow from it."""

    judged: Judged
    object: ReportedObject
    place: SourcePlace
    causes: tuple[LocatedCause, ...]
    consequences: tuple[ReportEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The judged objects, and the state with which they were compared.

    against: that state in words. kind, name: its name, see `ContextName`.
    objects, queues: the numbers of judged objects and queues.
    context_queues: the number of queues in the context.
    profile: strict or compat.
    as_of: the time of the context; None if it is read together with the inputs.
    judged_at: the time of the judgement.
    base: the revision at which the change begins.
    changed, deleted: the numbers of objects that differ from `base`.
    others: the number of documents without quota.
    """

    against: str
    kind: str
    name: str
    objects: int
    queues: int
    context_queues: int
    profile: str
    as_of: datetime | None = None
    judged_at: datetime | None = None
    base: Revision | None = None
    changed: int = 0
    deleted: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True)
class Looked:
    """The files that were read.

    files: their number. judged: the number of files with judged objects.
    kinds: the number of objects by kind.
    passed: the number of files that were passed over, by the reason.
    roots: the organisations that were judged one by one, if there are several; "" for files that contradict none of
        them.
    notes: what could not be rendered, as sentences.
    """

    files: int
    judged: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    passed: tuple[tuple[str, int], ...] = ()
    roots: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    subject: what was judged.
    entries: the findings, sorted by `in_order`.
    not_evaluated: the rules that could not be evaluated.
    unreadable: inputs that could not be read.
    failing: the severities that fail the run.
    folder: the working directory, to which names of files are relative.
    baselined: the number of findings in the baseline, which are left out.
    looked: the files that were read; None if none were.
    out_of_reach: why nothing could be judged; empty if something was.
    """

    subject: Subject
    entries: tuple[ReportEntry, ...]
    not_evaluated: tuple[Unjudged, ...]
    unreadable: tuple[Unreadable, ...]
    failing: frozenset[Severity] = frozenset({Severity.ERROR})
    folder: str = ""
    baselined: int = 0
    looked: Looked | None = None
    out_of_reach: str = ""

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return fingerprints(entry.judged for entry in self.entries)

    @property
    def every(self) -> tuple[ReportEntry, ...]:
        """The entries, each followed by its consequences."""
        return tuple(each for entry in self.entries for each in (entry, *entry.consequences))

    @property
    def empty(self) -> bool:
        """Whether nothing was judged. That does not mean that nothing is wrong."""
        return not self.subject.objects and not self.subject.deleted and not self.entries

    def count(self, severity: Severity) -> int:
        return sum(entry.judged.severity is severity for entry in self.entries)


def report(
    inputs: InputObjects,
    context: Context,
    judgement: Judgement,
    base: tuple[Revision, InputObjects] | None = None,
    around: InputObjects = NO_FILES,
) -> Report:
    """Make the report. `base`: the revision before the change, with its inputs. `around`: files of other roots."""
    places = InputPlaces(joined(around, inputs), judgement.proposal, base[1] if base else None)
    entries = in_order(_entry(judged, places, judgement.proposal) for judged in judgement.verdict.findings)
    context_queues = sum(1 for _ in context.world.nodes()) + count_queues(context.world.objects())
    subject = _subject(inputs, context.against, context_queues, judgement.proposal.configuration)
    subject = replace(subject, as_of=context.as_of, judged_at=judgement.proposal.circumstances.now)
    if context.cluster:
        subject = replace(subject, against=f"{context.against} of cluster {context.cluster}")
    if base:
        changes = judgement.proposal.changes
        deleted = sum(change.after is None for change in changes)
        subject = replace(subject, base=base[0], changed=len(changes) - deleted, deleted=deleted)
    unreadable = inputs.unreadable + context.unreadable
    return Report(subject, entries, judgement.verdict.not_evaluated, unreadable)


def in_order(entries: Iterable[ReportEntry]) -> tuple[ReportEntry, ...]:
    """The entries sorted by severity, worst first, then by place."""
    return tuple(sorted(entries, key=_rank))


def _rank(entry: ReportEntry) -> tuple[object, ...]:
    place = entry.place
    return entry.judged.severity.rank, place.file, place.line, place.column, entry.judged.rank


def unjudged(inputs: InputObjects, against: ContextName, configuration: Configuration, reason: str) -> Report:
    """The report if the context cannot be read, so that no rule can be evaluated."""
    missed = tuple(Unjudged(rule, reason) for _, rule in sorted(registry().items()))
    subject = _subject(inputs, against, 0, configuration)
    return Report(subject, (), missed, inputs.unreadable, out_of_reach=reason)


def _subject(inputs: InputObjects, against: ContextName, context_queues: int, configuration: Configuration) -> Subject:
    return Subject(
        against=str(against),
        kind=against.kind,
        name=against.name,
        objects=len(inputs.objects),
        queues=inputs.queues,
        context_queues=context_queues,
        profile=configuration.profile.value,
        others=inputs.others,
    )


def _entry(judged: Judged, places: InputPlaces, proposal: Proposal) -> ReportEntry:
    finding = judged.finding
    causes = tuple(
        LocatedCause(cause, identity(cause.object, proposal), places.of_cause(cause)) for cause in finding.causes
    )
    consequences = tuple(_entry(each, places, proposal) for each in judged.consequences)
    return ReportEntry(judged, identity(finding.object, proposal), places.of(finding), causes, consequences)


def identity(ref: Ref, proposal: Proposal) -> ReportedObject:
    """The object as reports name it: with its own version, or else the newest one of its kind."""
    found = proposal.after.get(ref) or proposal.before.get(ref)
    return ReportedObject(found.api_version if found else newest_version(ref), ref.kind, ref.namespace, ref.name)


def merged(reports: Sequence[Report]) -> Report:
    """All findings in order, without duplicates. The counts are sums."""
    first = reports[0]
    if len(reports) == 1:
        return first
    return replace(
        first,
        subject=_merged_subject([each.subject for each in reports]),
        entries=in_order(_once(entry for each in reports for entry in each.entries)),
        not_evaluated=tuple({(it.rule.id, it.reason): it for each in reports for it in each.not_evaluated}.values()),
        unreadable=tuple(dict.fromkeys(item for each in reports for item in each.unreadable)),
    )


def with_entries(report: Report, more: Iterable[ReportEntry]) -> Report:
    return replace(report, entries=in_order([*report.entries, *more]))


def _once(entries: Iterable[ReportEntry]) -> list[ReportEntry]:
    """The entries without duplicates, since an object that several roots share is judged in each of them."""
    return list({(it.judged.rule.id, it.place, it.judged.finding.message): it for it in entries}.values())


def _merged_subject(subjects: Sequence[Subject]) -> Subject:
    """The merged subject. A context that several reports share is counted once."""
    contexts = {each.against: each for each in subjects}
    named = next((each for each in contexts.values() if each.kind != "nothing"), subjects[0])
    return replace(
        named,
        against=" and ".join(contexts),
        name=named.name if len(contexts) == 1 else "",
        objects=sum(each.objects for each in subjects),
        queues=sum(each.queues for each in subjects),
        context_queues=sum(each.context_queues for each in contexts.values()),
        changed=sum(each.changed for each in subjects),
        deleted=sum(each.deleted for each in subjects),
        others=sum(each.others for each in subjects),
    )
