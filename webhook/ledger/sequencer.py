"""Enters changes into the ledger: judges each on top of what others entered, and writes all in one request."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from cluster.errors import ApiError, ClusterError, Conflict, Unreachable
from cluster.sightings import Sightings, Snapshot, scope
from cluster.versions import is_newer
from policies.dialects.core import CONFIG_MAP
from policies.judge import Judgement
from policies.model.change import Change, ChangeOperation
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Ref
from webhook.ledger.contents import LedgerContents, open_entries, possible_forests, related_entries, settlement
from webhook.ledger.direct_reads import DirectRead, DirectReads
from webhook.ledger.entry import LedgerEntry, UnreadableEntry
from webhook.ledger.waste import (
    APART_SECONDS,
    REPEATED_SECONDS,
    WASTED_SECONDS,
    StoreTimes,
    author_key,
    beyond,
    is_waste,
)

REQUEST_SECONDS = 65.0
"""How long a request may still be stored after it was allowed: the API server's --request-timeout, 60 s, and a margin.
Each replica counts from when it saw the entry first, so that no clock is compared with another."""

LINGERING_SECONDS = 180.0
"""After this every cache has shown later versions, or refuses for its silence."""

FEW_FORESTS, MANY_FORESTS = 8, 256
"""How many possible forests are judged at once, and how many before a change is refused. There are more than a few for
some milliseconds only, and waiting costs less than judging them."""

MOST_OF_OBJECT, MOST_OF_NAMESPACE = 20, 50
"""Open entries. All but those of the last milliseconds belong to requests that failed after they were allowed."""
LONGEST_ENTRY, BYTES_OF_NAMESPACE, BYTES_OF_AUTHOR = 64 * 1024, 64 * 1024, 300 * 1024
"""Bytes of one entry, and of all open ones of a namespace and of an author. YuniKorn's own ConfigMap may be longer."""


class LedgerUnavailable(Exception):
    """The ledger cannot order this change; the message says why, and what to do. `result` is how it is counted."""

    result = "unavailable"


class LedgerBusy(LedgerUnavailable):
    """The ledger works, but too many other changes around this one are open. A user can cause that on purpose."""

    result = "busy"


class AlreadyExists(Exception):
    """A creation of a name that exists: the API server would not store it, so it is answered and never entered."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(f"{ref} already exists")


class SequencedState(Enum):
    """The state of a change.

    ALLOWED: entered, or free to pass.
    REFUSED: refused, whether other changes are stored or not.
    UNDECIDED: it depends on whether other changes are stored.
    FAILED: it could not be judged or entered.
    """

    ALLOWED = "allowed"
    REFUSED = "refused"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(slots=True, eq=False)
class RequestedChange:
    """A change that is to be allowed or refused.

    `entry`: what is recorded in the ledger; None for a dry run, which is not recorded.
    `deadline`, `since`: when it must be answered, and when it arrived, in seconds of the sequencer's clock.
    `most`: the number of possible forests that are judged at most.

    The sequencer sets the rest:
    `judgement`: None if none was possible; then `failure` says why.
    `others`: the entries that it depends on.
    """

    change: Change
    judge: Callable[[Forest], Judgement]
    entry: LedgerEntry | None
    deadline: float
    since: float = math.inf
    most: int = FEW_FORESTS
    state: SequencedState = SequencedState.UNDECIDED
    judgement: Judgement | None = None
    others: tuple[LedgerEntry, ...] = ()
    failure: Exception | None = None
    served: bool = False
    entering: float = math.inf
    """When the write of its entry began, in seconds of the sequencer's clock."""

    def wait(self, others: tuple[LedgerEntry, ...], failure: Exception | None) -> None:
        """It has to wait for these entries. `failure` is the answer where they stay."""
        self.state, self.judgement, self.others, self.failure = SequencedState.UNDECIDED, None, others, failure


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
        watermarks: dict[str, str | None],
    ) -> LedgerContents:
        """Write the ledger if its version is still that of `contents`; None removes a watermark. Returns the result."""


@dataclass(slots=True)
class _Ages:
    """When each entry and watermark was seen first, in seconds of the clock."""

    clock: Callable[[], float]
    first: dict[object, float] = field(default_factory=dict)

    def keep(self, entries: Iterable[object]) -> None:
        """Begin to count for these, and forget all others."""
        now = self.clock()
        self.first = {entry: self.first.get(entry, now) for entry in entries}

    def of(self, entry: object) -> float:
        """Seconds; 0 where it was not seen yet."""
        now = self.clock()
        return now - self.first.get(entry, now)

    def over(self, entry: object, seconds: float) -> bool:
        return self.of(entry) > seconds


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
        self._direct_reads = DirectReads(clock)
        self._times = StoreTimes()
        self._looked: dict[str, tuple[float, bool]] = {}
        """When the object of an entry was read last, and whether the change was not stored."""
        self._abandoned: set[str] = set()

    def note(self, entry: LedgerEntry, found: DirectRead | None) -> None:
        """Note the object of the entry as it was read; None if it does not exist."""
        self._direct_reads.note(entry, found)
        self._looked[entry.request] = self._clock(), _unstored(entry, found)

    def abandon(self, request: str) -> None:
        """The client has ended this request, so the API server refuses it, and its change is not stored."""
        self._void[request] = self._clock()
        self._abandoned.add(request)

    def borrowable(self, asked: RequestedChange) -> list[LedgerEntry]:
        """The entries that `asked` depends on, and need not wait for once a read shows that they are not stored."""
        contents = self._store.newest()
        return [
            each
            for each in asked.others
            if contents and self._overtime(each, contents, asked) and self._look_at(each)[0] < asked.since
        ]

    def too_late(self, asked: RequestedChange) -> bool:
        """Whether so much time has gone since it was entered that others may soon have its room; then it is void."""
        contents, entry = self._store.newest(), asked.entry
        if entry is None or contents is None or not contents.remembers(entry.author):
            return False
        if self._clock() - asked.entering <= self._times.usual() / 2:
            return False
        self._void[entry.request] = self._clock()
        return True

    def awaits_waste(self, asked: RequestedChange) -> bool:
        """Whether `asked` depends on entries of remembered authors."""
        contents = self._store.newest()
        return contents is not None and any(contents.remembers(each.author) for each in asked.others)

    def observe(self) -> None:
        """Measure how long the changes took that the cache shows by now."""
        contents = self._store.newest()
        if contents is not None and contents.entries:
            self._keep(contents)
            self._measure(contents, self._snapshot().sightings)

    def _keep(self, contents: LedgerContents) -> None:
        """Count the ages of what is in the ledger, and forget what has left it."""
        self._ages.keep([*contents.entries, *contents.watermarks.items()])
        self._times.keep(contents.entries)
        self._looked = {each: seen for each, seen in self._looked.items() if each in contents.entries}

    def _measure(self, contents: LedgerContents, sightings: Sightings) -> None:
        for request, entry in contents.entries.items():
            outcome = settlement(entry, sightings)
            if outcome is not None and outcome.version is not None:
                self._times.note(request, self._ages.of(request))

    def _overtime(self, entry: LedgerEntry, contents: LedgerContents, asked: RequestedChange) -> bool:
        """Whether others ignore the entry: it takes longer than usual, and its author is remembered."""
        own = asked.entry is not None and asked.entry.author == entry.author
        known = contents.remembers(entry.author)
        return known and not own and self._ages.over(entry.request, self._times.usual())

    def _lent(self, entry: LedgerEntry, contents: LedgerContents, asked: RequestedChange) -> bool:
        """Whether it does not count for `asked`: a read after `asked` came showed that it is not stored."""
        at, unstored = self._look_at(entry)
        return unstored and at >= asked.since and self._overtime(entry, contents, asked)

    def _look_at(self, entry: LedgerEntry) -> tuple[float, bool]:
        return self._looked.get(entry.request, (-math.inf, False))

    def _own(
        self, asked: RequestedChange, contents: LedgerContents, entries: Sequence[LedgerEntry]
    ) -> tuple[LedgerEntry, ...]:
        """The own entries for which a remembered author has to wait, so that other users come first."""
        if asked.entry is None or not contents.remembers(asked.entry.author):
            return ()
        enough = self._times.usual() + APART_SECONDS
        author = asked.entry.author
        return tuple(each for each in entries if each.author == author and not self._ages.over(each.request, enough))

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
                    for each in asked:
                        each.entering = self._clock() if each.entry in added else each.entering
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
        """Wait before another attempt if a request has time left for one. Raises the error otherwise."""
        if error is not None and isinstance(error, ApiError) and error.status < 500 and error.status != 429:
            raise error
        if self._clock() > max(each.deadline for each in asked):
            raise error or LedgerUnavailable("other replicas were faster each time; try again")
        self._pause(0.0 if error is None else 0.05)

    def _judge(self, asked: Sequence[RequestedChange], contents: LedgerContents) -> list[LedgerEntry]:
        """The entries of those that are allowed, each judged on top of those before it."""
        self._keep(contents)
        cache = self._snapshot()
        late = contents.behind(cache.sightings, self._forgiven(contents))
        view = self._direct_reads.over(cache)
        open_ = [entry for entry in open_entries(contents.entries.values(), view) if entry.request not in self._void]
        added: list[LedgerEntry] = []
        for each in asked:
            if each.entry is not None and self._clock() > each.deadline:
                self._fail(each, "the ledger took too long; try again")
            elif late:
                why = f"this replica has not seen the newest {', '.join(late)} yet; try again"
                each.wait((), LedgerUnavailable(why))
            elif own := self._own(each, contents, [*open_, *added]):
                why = f"your own {own[0]} is not stored yet, like earlier ones; try again in some seconds"
                each.wait(own, LedgerBusy(why))
            else:
                counted = [entry for entry in open_ if not self._lent(entry, contents, each)]
                self._judge_one(each, view.forest, [*counted, *added])
                if each.state is SequencedState.ALLOWED and each.entry is not None:
                    added.append(each.entry)
        return added

    def _judge_one(self, each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
        """Judge a change on top of these entries; what is allowed has room in the ledger."""
        if each.most < MANY_FORESTS and (same := _rivals(each.entry, entries)):
            each.wait(same, None)
            return
        _decide_safely(each, forest, entries)
        if each.state is SequencedState.ALLOWED and each.entry is not None:
            crowd, why = crowded(each.entry, entries)
            if why:
                each.wait(crowd, LedgerBusy(why))

    def _forgiven(self, contents: LedgerContents) -> list[str]:
        return [
            place
            for place, value in contents.watermarks.items()
            if self._ages.over((place, value), WASTED_SECONDS if is_waste(place) else LINGERING_SECONDS)
        ]

    def _write(
        self,
        contents: LedgerContents,
        added: Sequence[LedgerEntry],
        expired: Sequence[tuple[LedgerEntry, DirectRead | None]] = (),
    ) -> None:
        """Write the `added` entries. Removes settled and `expired` ones, and those that an added one repeats."""
        dropped, watermarks = self._leaving(contents)
        wasted = [contents.entries[each] for each in self._abandoned & contents.entries.keys()]
        for entry, found in expired:
            dropped.add(entry.request)
            wasted += [entry] if _unstored(entry, found) else []
            if found is not None:
                _advance(watermarks, contents, entry, found.seen.version)
        again = _repeated(added, contents)
        # A client that repeats a request knows that the first one was not stored.
        wasted += [entry for entry in again if self._ages.over(entry.request, REPEATED_SECONDS)]
        self._remember(wasted, watermarks, contents)
        self._store.write(contents, added, dropped | {entry.request for entry in again}, watermarks)
        late = self._clock() - LINGERING_SECONDS  # a write takes less
        self._void = {each: at for each, at in self._void.items() if at > late and each not in dropped}
        self._abandoned &= self._void.keys()

    def _remember(
        self, wasted: Sequence[LedgerEntry], watermarks: dict[str, str | None], contents: LedgerContents
    ) -> None:
        """Remember the authors of entries that were not stored."""
        found = {author_key(entry.author): entry.request for entry in wasted}
        if found:
            ages = {each: self._ages.of((each, value)) for each, value in contents.watermarks.items()}
            watermarks.update(dict.fromkeys(beyond(contents.watermarks, ages, found)))
            watermarks.update(found)

    def _leaving(self, contents: LedgerContents) -> tuple[set[str], dict[str, str | None]]:
        """The entries that the cache settles, and the watermarks that replace them."""
        sightings = self._snapshot().sightings
        self._measure(contents, sightings)
        dropped = self._void.keys() & contents.entries.keys()
        watermarks: dict[str, str | None] = dict.fromkeys(self._forgiven(contents))
        for request, entry in contents.entries.items():
            outcome = settlement(entry, sightings)
            if outcome is None or request in dropped:
                continue
            if outcome.version is not None:
                _advance(watermarks, contents, entry, outcome.version)
                dropped.add(request)
            elif self._ages.over(request, LINGERING_SECONDS):
                dropped.add(request)
        return dropped, watermarks

    def overdue(self) -> list[LedgerEntry]:
        """The open entries whose requests have timed out. Only reading the object shows whether they were stored."""
        contents = self._store.newest()
        if contents is None:
            return []
        self._keep(contents)
        entries = open_entries(contents.entries.values(), self._snapshot())
        return [entry for entry in entries if self._ages.over(entry.request, REQUEST_SECONDS)]

    def tidy(self, looked: Sequence[tuple[LedgerEntry, DirectRead | None]]) -> None:
        """Remove the settled entries, and the overdue ones in `looked` (each with its object) that were never stored.

        Raises ClusterError, UnreadableEntry."""
        expired = [(entry, found) for entry, found in looked if self._dead(entry, found)]
        contents = self._store.newest()
        if contents is None or not (expired or any(self._leaving(contents))):
            return
        self._write(contents, [], expired)

    def _dead(self, entry: LedgerEntry, found: DirectRead | None) -> bool:
        """Whether it was never stored, or was stored so long ago that every cache shows it."""
        return _unstored(entry, found) or self._ages.over(entry.request, LINGERING_SECONDS)


def _unstored(entry: LedgerEntry, found: DirectRead | None) -> bool:
    """Whether the change is not stored, or the object was deleted afterwards."""
    if entry.base:
        return found is not None and found.seen == (entry.uid, entry.base)
    return found is None or found.seen.uid != entry.uid


def _repeated(added: Sequence[LedgerEntry], contents: LedgerContents) -> list[LedgerEntry]:
    """The entries that an added one repeats."""
    wanted = [(entry.author, entry.ref, entry.base, entry.after) for entry in added]
    return [each for each in contents.entries.values() if (each.author, each.ref, each.base, each.after) in wanted]


def _advance(watermarks: dict[str, str | None], contents: LedgerContents, entry: LedgerEntry, version: str) -> None:
    """Raise the watermark of the entry's scope to this version."""
    place = scope(entry.ref)
    known = watermarks.get(place) or contents.watermarks.get(place)
    watermarks[place] = version if is_newer(version, known) else known


def _rivals(entry: LedgerEntry | None, entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Other creations of the same name. One of them at most is stored, and the rest is then answered at once."""
    if entry is None or entry.operation is not ChangeOperation.CREATE:
        return ()
    return tuple(each for each in entries if each.ref == entry.ref and each.operation is ChangeOperation.CREATE)


def crowded(entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> tuple[tuple[LedgerEntry, ...], str]:
    """The open entries that leave no room for this one, and what to say of them; empty where there is room.

    Without these limits, a user who may write in one namespace could fill the ledger for all.
    """
    if entry.ref.group_kind == CONFIG_MAP:
        return (), ""  # there are two of them
    size = len(entry.text)
    if size > LONGEST_ENTRY:
        return (), f"{entry.ref} takes {size} bytes of the ledger, and one object may take {LONGEST_ENTRY}"
    namespace = entry.ref.namespace
    same = tuple(each for each in entries if each.ref == entry.ref)
    if len(same) >= MOST_OF_OBJECT:
        return same, f"{len(same)} other changes of {entry.ref} are not stored yet; try again in a minute"
    beside = tuple(each for each in entries if namespace and each.ref.namespace == namespace)
    if len(beside) >= MOST_OF_NAMESPACE or _bytes(beside) + size > BYTES_OF_NAMESPACE:
        return beside, f"{len(beside)} changes in namespace {namespace} are not stored yet; try again in a minute"
    own = tuple(each for each in entries if each.author == entry.author)
    if _bytes(own) + size > BYTES_OF_AUTHOR:
        return own, f"{len(own)} changes of {entry.author} are not stored yet; try again in a minute"
    return (), ""


def _bytes(entries: Sequence[LedgerEntry]) -> int:
    return sum(len(each.text) for each in entries)


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
    """Judge one change in every forest that the entries may lead to. It is allowed only if all of them allow it.

    A warning is given only if all forests lead to it: what was applied just before is most likely stored.
    """
    related = related_entries(each.change, forest, entries)
    each.others = tuple(related)
    possible = possible_forests(forest, related, each.most)
    if possible is None:
        each.state = SequencedState.UNDECIDED
        each.failure = LedgerBusy(
            f"{len(related)} changes around {each.change.ref} are not stored yet, the first is the {related[0]};"
            " try again in a minute"
        )
        return
    refused: Judgement | None = None
    allowed: Judgement | None = None
    for outcome in possible:
        judgement = each.judge(outcome)
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
