"""Enters changes into the ledger: judges each on top of what others entered, and writes all in one request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from cluster.errors import ApiError, ClusterError, Conflict, Unreachable
from cluster.sightings import Snapshot, scope
from cluster.versions import is_newer
from policies.judge import Judgement
from policies.model.change import Change, ChangeOperation
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Ref
from webhook.ledger.contents import LedgerContents, concerning, opened, settled, worlds
from webhook.ledger.direct_reads import DirectRead, DirectReads
from webhook.ledger.entry import LedgerEntry, UnreadableEntry

REQUEST_SECONDS = 65.0
"""How long a request may still be stored after it was allowed: the API server's --request-timeout, 60 s, and a margin.
Each replica counts from when it saw the entry first, so that no clock is compared with another."""

LINGERING_SECONDS = 180.0
"""After this every cache has shown later versions, or refuses for its silence."""

FEW_WORLDS, MANY_WORLDS = 8, 256
"""How many worlds are judged at once, and how many before a change is refused. More than a few are open for some
milliseconds only, and waiting costs less than judging them."""


MOST_OF_OBJECT, MOST_OF_NAMESPACE = 20, 50
"""Open entries. All but those of the last milliseconds belong to requests that failed after they were allowed."""


class LedgerUnavailable(Exception):
    """The ledger cannot order this change; the message says why, and what to do. `result` is how it is counted."""

    result = "unavailable"


class LedgerBusy(LedgerUnavailable):
    """The ledger works: too many other changes around this one are open, which those who make them can bring about."""

    result = "busy"


class AlreadyExists(Exception):
    """A creation of a name that exists: the API server would not store it, so it is answered and never entered."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref} already exists")


class SequencedState(Enum):
    """The state of a change.

    ALLOWED: entered, or free to pass.
    REFUSED: refused, whatever becomes of the changes of others.
    UNDECIDED: it depends on what becomes of the changes of others.
    FAILED: it could not be judged or entered.
    """

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(slots=True, eq=False)
class RequestedChange:
    """A change that wants to be allowed. `entry` is None for a dry run, which enters nothing.

    `deadline` in seconds of the sequencer's clock. At `most` so many worlds are judged. The sequencer sets the rest:
    `judgement` is None where none was possible, `failure` says why; `others` are the entries that it depends on.
    """

    change: Change
    judge: Callable[[Forest], Judgement]
    entry: LedgerEntry | None
    deadline: float
    most: int = FEW_WORLDS
    state: SequencedState = SequencedState.UNDECIDED
    judgement: Judgement | None = None
    others: tuple[LedgerEntry, ...] = ()
    failure: Exception | None = None
    served: bool = False


class LedgerStore(Protocol):
    """Where the ledger is kept. Its methods raise ClusterError or UnreadableEntry."""

    def newest(self) -> LedgerContents | None:
        """The newest that is known here; None before it was read, or where it is missing."""

    def read(self) -> LedgerContents:
        """The ledger as it is stored now."""

    def write(
        self,
        contents: LedgerContents,
        added: Iterable[LedgerEntry],
        dropped: Iterable[str],
        marks: dict[str, str | None],
    ) -> LedgerContents:
        """Write the ledger if it is still at the version of `contents`; returns the result. A mark of None goes."""


@dataclass(slots=True)
class _Ages:
    """When each entry and mark was seen first, in seconds of the clock."""

    clock: Callable[[], float]
    first: dict[object, float] = field(default_factory=dict)

    def keep(self, entries: Iterable[object]) -> None:
        """Begin to count for these, and forget all others."""
        now = self.clock()
        self.first = {entry: self.first.get(entry, now) for entry in entries}

    def over(self, entry: object, seconds: float) -> bool:
        return entry in self.first and self.clock() - self.first[entry] > seconds


class Sequencer:
    """One replica's hand in the ledger; one thread at a time."""

    def __init__(
        self,
        store: LedgerStore,
        snapshot: Callable[[], Snapshot],
        clock: Callable[[], float],
        pause: Callable[[float], object],
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._clock = clock
        self._pause = pause
        self._ages = _Ages(clock)
        self._void: dict[str, float] = {}
        self.direct_reads = DirectReads(clock)

    def serve(self, asked: Sequence[RequestedChange]) -> None:
        """Decide all of these, each on top of those before it, and enter what is allowed: one write for all.

        Sets `state` and the fields around it; a change that cannot be ordered gets a `failure`.
        """
        try:
            self._serve(asked)
        except (ClusterError, UnreadableEntry, LedgerUnavailable) as error:
            for each in asked:
                if each.state is not SequencedState.REFUSED:
                    self._fail(each, f"the ledger cannot order this change: {error}")

    def _serve(self, asked: Sequence[RequestedChange]) -> None:
        contents = self._store.newest()
        while True:
            try:
                contents = contents or self._store.read()
                added = self._judge([each for each in asked if not self._entered(each, contents)], contents)
                if added:
                    self._write(contents, added)
                return
            except Conflict:
                self._hesitate(asked, None)
            except (Unreachable, ApiError) as error:
                self._hesitate(asked, error)
            contents = None

    def _fail(self, each: RequestedChange, why: str, kind: type[LedgerUnavailable] = LedgerUnavailable) -> None:
        """Refuse it. Its entry counts no longer here, and leaves with the next write, should it be there."""
        each.state, each.failure = SequencedState.FAILED, kind(why)
        if each.entry is not None:
            self._void[each.entry.request] = self._clock()

    def _entered(self, each: RequestedChange, contents: LedgerContents) -> bool:
        """Whether the change stands in the ledger after a write whose answer was lost."""
        return (
            each.entry is not None and each.state is SequencedState.ALLOWED and each.entry.request in contents.entries
        )

    def _hesitate(self, asked: Sequence[RequestedChange], error: ClusterError | None) -> None:
        """Before another attempt, while anybody can wait for one. Raises the error otherwise."""
        if error is not None and isinstance(error, ApiError) and error.status < 500 and error.status != 429:
            raise error
        if self._clock() > max(each.deadline for each in asked):
            raise error or LedgerUnavailable("other replicas were faster each time; try again")
        self._pause(0.0 if error is None else 0.05)

    def _judge(self, asked: Sequence[RequestedChange], contents: LedgerContents) -> list[LedgerEntry]:
        """The entries of those that are allowed, each judged on top of those before it."""
        self._ages.keep([*contents.entries, *contents.marks.items()])
        cache = self._snapshot()
        late = contents.behind(cache.sightings, self._forgiven(contents))
        view = self.direct_reads.over(cache)
        open_ = [entry for entry in opened(contents.entries.values(), view) if entry.request not in self._void]
        added: list[LedgerEntry] = []
        for each in asked:
            if each.entry is not None and self._clock() > each.deadline:
                self._fail(each, "the ledger took too long; try again")
                continue
            if late:
                each.state, each.others = SequencedState.UNDECIDED, ()
                each.failure = LedgerUnavailable(
                    f"this replica has not seen the newest {', '.join(late)} yet; try again"
                )
                continue
            if each.most < MANY_WORLDS and (same := _rivals(each.entry, [*open_, *added])):
                each.state, each.judgement, each.others, each.failure = SequencedState.UNDECIDED, None, same, None
                continue
            _decide_safely(each, view.forest, [*open_, *added])
            if each.state is SequencedState.ALLOWED and each.entry is not None:
                if crowd := crowded(each.entry, [*open_, *added]):
                    self._fail(each, crowd, LedgerBusy)
                else:
                    added.append(each.entry)
        return added

    def _forgiven(self, contents: LedgerContents) -> list[str]:
        return [place for place, mark in contents.marks.items() if self._ages.over((place, mark), LINGERING_SECONDS)]

    def _write(
        self,
        contents: LedgerContents,
        added: Sequence[LedgerEntry],
        expired: Sequence[tuple[LedgerEntry, DirectRead | None]] = (),
    ) -> None:
        """Write the `added` entries. Removes settled and `expired` ones, and those that an added one repeats."""
        dropped, marks = self._leaving(contents)
        for entry, found in expired:
            dropped.add(entry.request)
            if found is not None:
                _advance(marks, contents, entry, found.seen.version)
        wanted = [(entry.ref, entry.base, entry.after) for entry in added]
        again = {each for each, entry in contents.entries.items() if (entry.ref, entry.base, entry.after) in wanted}
        self._store.write(contents, added, dropped | again, marks)
        late = self._clock() - LINGERING_SECONDS  # no write of ours is on its way for that long
        self._void = {each: at for each, at in self._void.items() if at > late and each not in dropped}

    def _leaving(self, contents: LedgerContents) -> tuple[set[str], dict[str, str | None]]:
        """The entries that the cache settles, and how far others must have come to do without them."""
        sightings = self._snapshot().sightings
        dropped = self._void.keys() & contents.entries.keys()
        marks: dict[str, str | None] = dict.fromkeys(self._forgiven(contents))
        for request, entry in contents.entries.items():
            outcome = settled(entry, sightings)
            if outcome is None or request in dropped:
                continue
            if outcome.mark is not None:
                _advance(marks, contents, entry, outcome.mark)
                dropped.add(request)
            elif self._ages.over(request, LINGERING_SECONDS):
                dropped.add(request)
        return dropped, marks

    def overdue(self) -> list[LedgerEntry]:
        """The open entries whose requests are over: only a look at the object can tell what became of them."""
        contents = self._store.newest()
        if contents is None:
            return []
        self._ages.keep([*contents.entries, *contents.marks.items()])
        entries = opened(contents.entries.values(), self._snapshot())
        return [entry for entry in entries if self._ages.over(entry.request, REQUEST_SECONDS)]

    def tidy(self, looked: Sequence[tuple[LedgerEntry, DirectRead | None]]) -> None:
        """Take out what is settled, and those of `looked` (entries that were overdue, with their objects) that were
        never stored. Raises ClusterError, UnreadableEntry."""
        expired = [(entry, found) for entry, found in looked if self._dead(entry, found)]
        contents = self._store.newest()
        if contents is None or not (expired or any(self._leaving(contents))):
            return
        self._write(contents, [], expired)

    def _dead(self, entry: LedgerEntry, found: DirectRead | None) -> bool:
        """Never stored; or stored so long ago that every cache shows it."""
        untouched = found is not None and found.seen == (entry.uid, entry.base)
        unmade = not entry.base and (found is None or found.seen.uid != entry.uid)
        return untouched or unmade or self._ages.over(entry.request, LINGERING_SECONDS)


def _advance(marks: dict[str, str | None], contents: LedgerContents, entry: LedgerEntry, version: str) -> None:
    """Ask of every cache to have come as far as this version of the entry's scope."""
    place = scope(entry.ref)
    known = marks.get(place) or contents.marks.get(place)
    marks[place] = version if is_newer(version, known) else known


def _rivals(entry: LedgerEntry | None, entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Other creations of the same name. One of them at most is stored, and the rest is then answered at once."""
    if entry is None or entry.operation is not ChangeOperation.CREATE:
        return ()
    return tuple(each for each in entries if each.ref == entry.ref and each.operation is ChangeOperation.CREATE)


def crowded(entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> str:
    """Why it is not entered: so many others of the same object or namespace are open; empty where there is room.

    Without this limit, a user who may write in one namespace could fill the ledger for all.
    """
    same = sum(each.ref == entry.ref for each in entries)
    if same >= MOST_OF_OBJECT:
        return f"{same} other changes of {entry.ref} are not stored yet; try again in a minute"
    beside = sum(each.ref.namespace == entry.ref.namespace for each in entries) if entry.ref.namespace else 0
    if beside >= MOST_OF_NAMESPACE:
        return f"{beside} changes in namespace {entry.ref.namespace} are not stored yet; try again in a minute"
    return ""


def _decide_safely(each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
    """An internal error is that of one request, not of all that are judged with it."""
    each.failure = None
    try:
        decide(each, forest, entries)
    except Exception as error:
        each.state, each.failure = SequencedState.FAILED, error


def _warnings(judgement: Judgement) -> int:
    return len(judgement.verdict.of(Severity.WARNING))


def decide(each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
    """Judge one change in every world that may come of the entries; it is allowed only if it is in all of them.

    A warning is given only if every world gives it: what was applied just before is most likely stored.
    """
    related = concerning(each.change, forest, entries)
    each.others = tuple(related)
    possible = worlds(forest, related, each.most)
    if possible is None:
        each.state = SequencedState.UNDECIDED
        each.failure = LedgerBusy(
            f"{len(related)} changes around {each.change.ref} are not stored yet, the first is the {related[0]};"
            " try again in a minute"
        )
        return
    refused: Judgement | None = None
    allowed: Judgement | None = None
    for world in possible:
        judgement = each.judge(world)
        if judgement.verdict.allowed:
            allowed = min(filter(None, (allowed, judgement)), key=_warnings)
        else:
            refused = refused or judgement
        if allowed and refused:
            break
    each.judgement = refused or allowed
    each.state = (
        SequencedState.UNDECIDED
        if allowed and refused
        else SequencedState.REFUSED
        if refused
        else SequencedState.ALLOWED
    )
