"""The report of one judgement."""

from __future__ import annotations

from collections.abc import Iterable
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
from policies.judging.proposal import Proposal
from policies.judging.verdict import Judged, Unjudged
from policies.model.findings import Cause, Severity
from policies.model.objects import Ref
from policies.rules import registry


@dataclass(frozen=True, slots=True)
class ReportedObject:
    """An object as a report names it. `namespace` is empty for cluster-scoped kinds."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class LocatedCause:
    """A cause; `place` is None where its object is not among the inputs."""

    cause: Cause
    object: ReportedObject
    place: SourcePlace | None


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """A finding; `consequences` are those that follow from it."""

    judged: Judged
    object: ReportedObject
    place: SourcePlace
    causes: tuple[LocatedCause, ...]
    consequences: tuple[ReportEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """What was judged, and against what.

    `context_queues` counts the queues of the context, `others` the documents without quota. `as_of`: the time of the
    context; None if it is read together with the inputs. `base`: the revision that the change begins at; `changed` and
    `deleted` count the objects that differ from it.
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
    """What was looked at. `judged` counts the files with objects that are judged.

    `kinds` and `passed` are counts, of objects by kind and of files by the reason.

    `roots` are the organisations that were judged one by one, where there are several; "" stands for all that
    contradicts none of them. `notes` say what could not be rendered.
    """

    files: int
    judged: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    passed: tuple[tuple[str, int], ...] = ()
    roots: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """`entries` are in the order of `in_order`. `baselined` counts findings that the baseline has; they are left out.

    `looked` is None where nobody looked at files. `failing` are the severities that fail the run. `folder` is the
    working directory, which names of files start from. `out_of_reach` is why nothing could be judged at all.
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
        """The fingerprints of the entries, in their order."""
        return fingerprints(entry.judged for entry in self.entries)

    @property
    def every(self) -> tuple[ReportEntry, ...]:
        """The entries, each with what follows from it behind it."""
        return tuple(each for entry in self.entries for each in (entry, *entry.consequences))

    @property
    def empty(self) -> bool:
        """Nothing was judged, which is not the same as that nothing is wrong."""
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
    """`base` is the revision that the change begins at, with the inputs there; `around` are files of other roots."""
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
    """Worst first, then from place to place, as one reads and mends files."""
    return tuple(sorted(entries, key=_rank))


def _rank(entry: ReportEntry) -> tuple[object, ...]:
    place = entry.place
    return entry.judged.severity.rank, place.file, place.line, place.column, entry.judged.rank


def unjudged(inputs: InputObjects, against: ContextName, configuration: Configuration, reason: str) -> Report:
    """The report where the context is unreachable, so that no rule can judge anything."""
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
    """How reports name it: in its own version, else in the newest one of its kind."""
    found = proposal.after.get(ref) or proposal.before.get(ref)
    return ReportedObject(found.api_version if found else newest_version(ref), ref.kind, ref.namespace, ref.name)
