"""Enters changes into the ledger: judges each one on top of the entries of others, and writes all in one request.

Authors of changes that were not stored are remembered, so that other users need not wait for them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cluster.errors import ApiError, ClusterError, Conflict, Unreachable
from cluster.sightings import Snapshot, scope
from cluster.versions import is_newer
from policies.model.change import ChangeOperation
from policies.model.forest import Forest
from webhook.ledger.contents import LedgerContents, open_entries, settlement
from webhook.ledger.direct_reads import DirectRead, DirectReads
from webhook.ledger.entry import LedgerEntry, UnreadableEntry, crowded
from webhook.ledger.remembered_authors import (
    APART_SECONDS,
    REMEMBERED_SECONDS,
    REPEATED_SECONDS,
    StoreTimes,
    author_key,
    is_author_key,
    surplus_authors,
)
from webhook.ledger.requested import MANY_FORESTS, LedgerBusy, RequestedChange, SequencedState, decide
from webhook.ledger.store import ConfigMapStore, LedgerUnavailable

REQUEST_SECONDS = 65.0
"""How long after it was allowed a change may still be stored, in seconds: the API server's --request-timeout, 60 s, and
a margin. Each replica counts from when it first saw the entry, so that clocks of different machines do not matter."""

LINGERING_SECONDS = 180.0
"""After this many seconds every cache shows a later version, or is silent for so long that its replica allows no
changes."""


@dataclass(slots=True)
class _Ages:
    """When each entry and watermark was first seen, in seconds of the clock."""

    clock: Callable[[], float]
    first: dict[object, float] = field(default_factory=dict)

    def keep(self, entries: Iterable[object]) -> None:
        """Start to count the ages of these, and forget all others."""
        now = self.clock()
        self.first = {entry: self.first.get(entry, now) for entry in entries}

    def of(self, entry: object) -> float:
        """The age in seconds; 0 if the entry was not seen yet."""
        now = self.clock()
        return now - self.first.get(entry, now)

    def over(self, entry: object, seconds: float) -> bool:
        return self.of(entry) > seconds


class Sequencer:
    """Reads and writes the ledger for one replica. Any thread may ask it; one at a time may change its state."""

    def __init__(
        self,
        store: ConfigMapStore,
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
        """When the object of each request was last read, and whether the change was not stored."""
        self._abandoned: set[str] = set()

    # --- a turn

    def serve(self, asked: Sequence[RequestedChange]) -> None:
        """Judge these changes, each on top of those before it, and enter the allowed ones with one write.

        Sets the result fields of each RequestedChange. A change that cannot be ordered gets a `failure`.
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
                self._pause_or_raise(asked, None)
            except (Unreachable, ApiError) as error:
                self._pause_or_raise(asked, error)
            contents = None

    def _entered(self, each: RequestedChange, contents: LedgerContents) -> bool:
        """Whether the change is in the ledger already, through a write whose answer was lost."""
        return (
            each.entry is not None and each.state is SequencedState.ALLOWED and each.entry.request in contents.entries
        )

    def _pause_or_raise(self, asked: Sequence[RequestedChange], error: ClusterError | None) -> None:
        """Wait before another attempt if a request has time left for one. Raises the error otherwise."""
        if error is not None and isinstance(error, ApiError) and error.status < 500 and error.status != 429:
            raise error
        if self._clock() > max(each.deadline for each in asked):
            raise error or LedgerUnavailable("other replicas were faster each time; try again")
        self._pause(0.0 if error is None else 0.05)

    def _judge(self, asked: Sequence[RequestedChange], contents: LedgerContents) -> list[LedgerEntry]:
        """Judge each change on top of the allowed ones before it. Return the entries of the allowed ones."""
        self._keep(contents)
        cache = self._snapshot()
        late = contents.behind(cache.sightings, self._expired_watermarks(contents))
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
                counted = [entry for entry in open_ if not self._is_ignored(entry, contents, each)]
                self._judge_one(each, view.forest, [*counted, *added])
                if each.state is SequencedState.ALLOWED and each.entry is not None:
                    added.append(each.entry)
        return added

    def _judge_one(self, each: RequestedChange, forest: Forest, entries: list[LedgerEntry]) -> None:
        """Judge a change on top of these entries. An allowed change waits if the ledger has no room for its entry."""
        if each.max_forests < MANY_FORESTS and (same := _rivals(each.entry, entries)):
            each.wait(same, None)
            return
        decide(each, forest, entries)
        if each.state is SequencedState.ALLOWED and each.entry is not None:
            crowd, why = crowded(each.entry, entries)
            if why:
                each.wait(crowd, LedgerBusy(why))

    def _own(
        self, asked: RequestedChange, contents: LedgerContents, entries: Sequence[LedgerEntry]
    ) -> tuple[LedgerEntry, ...]:
        """The entries of the same author that a remembered author has to wait for, so that other users come first."""
        if asked.entry is None or not contents.remembers(asked.entry.author):
            return ()
        enough = self._times.usual() + APART_SECONDS
        author = asked.entry.author
        return tuple(each for each in entries if each.author == author and not self._ages.over(each.request, enough))

    def _fail(self, each: RequestedChange, why: str) -> None:
        """Fail the change. Its entry no longer counts on this replica, and the next write removes it."""
        each.state, each.failure = SequencedState.FAILED, LedgerUnavailable(why)
        if each.entry is not None:
            self.void(each.entry.request)

    # --- entries of remembered authors

    def _is_ignored(self, entry: LedgerEntry, contents: LedgerContents, asked: RequestedChange) -> bool:
        """Whether `asked` ignores the entry: a read after `asked` arrived showed that the change was not stored."""
        at, unstored = self._look_at(entry)
        return unstored and at >= asked.since and self._may_be_ignored(entry, contents, asked)

    def _may_be_ignored(self, entry: LedgerEntry, contents: LedgerContents, asked: RequestedChange) -> bool:
        """Whether others may ignore the entry: its author is remembered, and it is open for longer than usual."""
        own = asked.entry is not None and asked.entry.author == entry.author
        known = contents.remembers(entry.author)
        return known and not own and self._ages.over(entry.request, self._times.usual())

    def _look_at(self, entry: LedgerEntry) -> tuple[float, bool]:
        return self._looked.get(entry.request, (-math.inf, False))

    def worth_reading(self, asked: RequestedChange) -> list[LedgerEntry]:
        """The entries that need not be waited for if a read shows that their changes are not stored."""
        contents = self._store.newest()
        return [
            each
            for each in asked.others
            if contents and self._may_be_ignored(each, contents, asked) and self._look_at(each)[0] < asked.since
        ]

    def too_late(self, asked: RequestedChange) -> bool:
        """Whether the entry was written so long ago that other changes may soon ignore it."""
        contents, entry = self._store.newest(), asked.entry
        if entry is None or contents is None or not contents.remembers(entry.author):
            return False
        return self._clock() - asked.entering > self._times.usual() / 2

    def awaits_remembered_author(self, asked: RequestedChange) -> bool:
        """Whether `asked` depends on entries of remembered authors."""
        contents = self._store.newest()
        return contents is not None and any(contents.remembers(each.author) for each in asked.others)

    # --- the write

    def _write(
        self,
        contents: LedgerContents,
        added: Sequence[LedgerEntry],
        expired: Sequence[tuple[LedgerEntry, DirectRead | None]] = (),
    ) -> None:
        """Add entries. Remove the settled and `expired` ones, and those that an added entry repeats."""
        dropped, watermarks = self._removals(contents)
        unstored = [contents.entries[each] for each in self._abandoned & contents.entries.keys()]
        for entry, found in expired:
            dropped.add(entry.request)
            unstored += [entry] if _unstored(entry, found) else []
            if found is not None:
                _advance(watermarks, contents, entry, found.seen.version)
        again = _repeated(added, contents)
        # A client that repeats a request knows that the first one was not stored.
        unstored += [entry for entry in again if self._ages.over(entry.request, REPEATED_SECONDS)]
        self._remember(unstored, watermarks, contents)
        self._store.write(contents, added, dropped | {entry.request for entry in again}, watermarks)
        late = self._clock() - LINGERING_SECONDS  # longer than any write, so an older request has no late entry
        self._void = {each: at for each, at in self._void.items() if at > late and each not in dropped}
        self._abandoned &= self._void.keys()

    def _removals(self, contents: LedgerContents) -> tuple[set[str], dict[str, str | None]]:
        """The requests whose entries are void or settled, and the changes of watermarks that replace the entries."""
        cache = self._snapshot()
        self._measure(contents, cache)
        dropped = self._void.keys() & contents.entries.keys()
        watermarks: dict[str, str | None] = dict.fromkeys(self._expired_watermarks(contents))
        for request, entry in contents.entries.items():
            outcome = settlement(entry, cache.sightings)
            if outcome is None or request in dropped:
                continue
            if outcome.version is not None:
                _advance(watermarks, contents, entry, outcome.version)
                dropped.add(request)
            elif self._ages.over(request, LINGERING_SECONDS):
                dropped.add(request)
        return dropped, watermarks

    def _expired_watermarks(self, contents: LedgerContents) -> list[str]:
        return [
            place
            for place, value in contents.watermarks.items()
            if self._ages.over((place, value), REMEMBERED_SECONDS if is_author_key(place) else LINGERING_SECONDS)
        ]

    def _remember(
        self, unstored: Sequence[LedgerEntry], watermarks: dict[str, str | None], contents: LedgerContents
    ) -> None:
        """Remember the authors of entries that were not stored."""
        found = {author_key(entry.author): entry.request for entry in unstored}
        if found:
            ages = {each: self._ages.of((each, value)) for each, value in contents.watermarks.items()}
            watermarks.update(dict.fromkeys(surplus_authors(contents.watermarks, ages, found)))
            watermarks.update(found)

    # --- between the turns

    def note(self, entry: LedgerEntry, found: DirectRead | None) -> None:
        """Note the object of the entry as it was read. `found`: None if it does not exist."""
        self._direct_reads.note(entry, found)
        self._looked[entry.request] = self._clock(), _unstored(entry, found)

    def void(self, request: str) -> None:
        """Void the entry of a request that is refused after all. The next write removes it."""
        self._void[request] = self._clock()

    def abandon(self, request: str) -> None:
        """Void the entry of a request that its client has ended. The API server does not store such a change."""
        self.void(request)
        self._abandoned.add(request)

    def observe(self) -> None:
        """Measure how long it took to store the changes that the cache shows."""
        contents = self._store.newest()
        if contents is not None and contents.entries:
            self._keep(contents)
            self._measure(contents, self._snapshot())

    def _keep(self, contents: LedgerContents) -> None:
        """Count the ages of the present entries and watermarks, and forget those that were removed."""
        self._ages.keep([*contents.entries, *contents.watermarks.items()])
        self._times.keep(contents.entries)
        self._looked = {each: seen for each, seen in self._looked.items() if each in contents.entries}

    def _measure(self, contents: LedgerContents, cache: Snapshot) -> None:
        entries = Counter(entry.ref for entry in contents.entries.values())
        for request, entry in contents.entries.items():
            if _is_shown(entry, cache, alone=entries[entry.ref] == 1):
                self._times.note(request, self._ages.of(request))

    def overdue(self) -> list[LedgerEntry]:
        """The open entries of requests that have timed out. Only reading the object shows whether they were stored."""
        contents = self._store.newest()
        if contents is None:
            return []
        self._keep(contents)
        entries = open_entries(contents.entries.values(), self._snapshot())
        return [entry for entry in entries if self._ages.over(entry.request, REQUEST_SECONDS)]

    def tidy(self, looked: Sequence[tuple[LedgerEntry, DirectRead | None]]) -> None:
        """Remove the settled entries, and the overdue ones that were never stored.

        `looked`: the overdue entries, each with its object as it was read. Raises ClusterError, UnreadableEntry.
        """
        expired = [(entry, found) for entry, found in looked if self._is_obsolete(entry, found)]
        contents = self._store.newest()
        if contents is None or not (expired or any(self._removals(contents))):
            return
        self._write(contents, [], expired)

    def _is_obsolete(self, entry: LedgerEntry, found: DirectRead | None) -> bool:
        """Whether the change was never stored, or the entry is so old that every cache shows the outcome."""
        return _unstored(entry, found) or self._ages.over(entry.request, LINGERING_SECONDS)


def _is_shown(entry: LedgerEntry, cache: Snapshot, *, alone: bool) -> bool:
    """Whether the cache shows that exactly this change was stored.

    Any later write of the object settles the entry of an edit, too. `alone`: no other entry is of the same object.
    """
    outcome = settlement(entry, cache.sightings)
    if outcome is None or outcome.version is None:
        return False
    return not entry.base or (alone and cache.forest.get(entry.ref) == entry.after)


def _unstored(entry: LedgerEntry, found: DirectRead | None) -> bool:
    """Whether the change is not stored, or the object was deleted afterwards."""
    if entry.base:
        return found is not None and found.seen == (entry.uid, entry.base)
    return found is None or found.seen.uid != entry.uid


def _repeated(added: Sequence[LedgerEntry], contents: LedgerContents) -> list[LedgerEntry]:
    """The entries that an added entry repeats: same author, object, version and content."""
    wanted = [(entry.author, entry.ref, entry.base, entry.after) for entry in added]
    return [each for each in contents.entries.values() if (each.author, each.ref, each.base, each.after) in wanted]


def _advance(watermarks: dict[str, str | None], contents: LedgerContents, entry: LedgerEntry, version: str) -> None:
    """Raise the watermark of the entry's scope to this version."""
    place = scope(entry.ref)
    known = watermarks.get(place) or contents.watermarks.get(place)
    watermarks[place] = version if is_newer(version, known) else known


def _rivals(entry: LedgerEntry | None, entries: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The other creations of the same name. Only one is stored, and then the others can be answered at once."""
    if entry is None or entry.operation is not ChangeOperation.CREATE:
        return ()
    return tuple(each for each in entries if each.ref == entry.ref and each.operation is ChangeOperation.CREATE)
