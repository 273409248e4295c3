"""The stored version of each object, and a record for each object that has work in progress.

A record has the decision that is not stored yet, the request in flight, and the backoff. Different views read different
fields of one object. All its views share one record, so an object has at most one request in flight. The scheduler's
world has `Records.current` of each Workload: what was decided, otherwise what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from cluster.retry import RandomBackoff
from reconciler.core.commands import ReadObject, WriteCommand
from reconciler.core.controller import Controller
from reconciler.objects.observed import Key, Observed, put_or_drop
from reconciler.objects.progress import ListProgress
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WORKLOAD_VIEW, WatchedKind
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.world.decisions import Wait

T = TypeVar("T")
WORKLOAD = WORKLOAD_VIEW.kind
FIRST_BACKOFF, LONGEST_BACKOFF = 0.2, 30.0
"""Seconds between two attempts to write an object."""
_REMEMBERED = 600 * SECOND
"""Nanoseconds after the end of a backoff. If the object was not written again by then, it is gone or has recovered, and
the backoff is forgotten."""


@dataclass(slots=True)
class InFlight:
    """A request about an object that has no response yet.

    `decided`: the Workload that the request writes, if the decider wants the write.
    `wanted`, `controller`: the write and the controller, if a controller wants the write.
    `postponed`: whether the request failed and waits to be sent again.
    """

    request: WriteCommand | ReadObject
    decided: Workload | None = None
    wanted: WantedWrite | None = None
    controller: Controller | None = None
    postponed: bool = False


@dataclass(slots=True)
class Backoff:
    """The object is not written until this time (nanoseconds). Each backoff in a row is longer than the one before."""

    until: int
    delays: RandomBackoff


@dataclass(slots=True)
class ObjectRecord:
    """The work in progress for one object.

    `decided`: the Workload as decisions have changed it since it was stored. Its write is in flight, follows the
        request in flight, or waits until the object may be written.
    `details`: by reason, what the decisions add to the Events of the change.
    `in_flight`: the request in flight.
    `backoff`: the backoff, or the last one if it has ended lately.
    `owed`: the reason for waiting that the stored Workload does not show yet.
    """

    decided: Workload | None = None
    details: dict[str, str] = field(default_factory=dict)
    in_flight: InFlight | None = None
    backoff: Backoff | None = None
    owed: Wait | None = None

    @property
    def empty(self) -> bool:
        return self.decided is None and self.in_flight is None and self.backoff is None and self.owed is None


_BUSY = 16
"""The number of requests in flight from which on the cluster counts as busy: one for each thread of the writer, and
one more that waits."""


class Records:
    """The stored objects and the records. The key of any view identifies the object. Times are in nanoseconds.

    `get`, `known` and `note` may be called from any thread; all other methods only from the thread of the core.
    `in_flight`, `backing_off`: the keys of objects in these states, in the order in which the states began.
    """

    def __init__(self) -> None:
        self.progress = ListProgress()
        self.in_flight: dict[Key, None] = {}
        self.backing_off: dict[Key, None] = {}
        self._tracked: set[str] = set()
        self._stored: dict[Key, Observed[object]] = {}
        self._records: dict[Key, ObjectRecord] = {}
        self._kind_of: dict[str, str] = {}
        self._views_of: dict[str, list[str]] = {}
        self._early: dict[Key, Observed[object]] = {}

    @property
    def calm(self) -> bool:
        """Whether so few requests are in flight that reports may be written. Decisions have precedence."""
        return len(self.in_flight) < _BUSY

    def track(self, view: str, kind: str = "") -> None:
        """Wait for the list of this view before anything is decided.

        `kind`: the kind of the objects, if the view is not named after it.
        """
        self._tracked.add(view)
        if kind:
            self._kind_of[view] = kind
            self._views_of.setdefault(kind, []).append(view)

    def object_of(self, key: Key) -> Key:
        """The kind and name of the object that this view shows."""
        kind = self._kind_of.get(key[0])
        return key if kind is None else (kind, key[1])

    def _views(self, key: Key) -> list[Key]:
        """All views of the object."""
        kind, name = self.object_of(key)
        return [(kind, name), *((view, name) for view in self._views_of.get(kind, ()))]

    @property
    def complete(self) -> bool:
        """Whether all objects of each tracked kind are known."""
        return self.progress.listed >= self._tracked

    @property
    def unlisted(self) -> set[str]:
        return self._tracked - self.progress.listed

    # --- stored objects

    def get(self, view: WatchedKind[T], name: str) -> Observed[T] | None:
        return view.find(self._stored, name)

    def at(self, key: Key) -> Observed[object] | None:
        return self._stored.get(key)

    def keep(self, observed: Observed[object]) -> None:
        """Store the object, or remove it if its value is None."""
        put_or_drop(self._stored, observed.key, observed if observed.value is not None else None)

    def lose(self, key: Key, version: str) -> None:
        """Remove the object of this version, in all views."""
        for view in self._views(key):
            if view in self._stored and self._stored[view].version == version:
                del self._stored[view]

    def note(self, observed: Observed[object]) -> Observed[object]:
        """Remember an object that another thread has read, so that the watch need not read the same version again."""
        if self.object_of(observed.key) in self.in_flight:
            self._early[observed.key] = observed
        return observed

    def known(self, key: Key) -> Observed[object] | None:
        """The object as any thread last read it. It need not be stored in the records, and may have any version."""
        return self._early.get(key) or self._stored.get(key)

    def detail(self, key: Key) -> Stored | None:
        """Metadata and status for writes of the object's status; None if the object does not exist."""
        observed = self._stored.get(key)
        return observed.stored if observed is not None else None

    def workload(self, name: str) -> Observed[Workload] | None:
        return WORKLOAD_VIEW.find(self._stored, name)

    def keys(self) -> Iterable[Key]:
        return self._stored.keys()

    # --- records

    def find(self, key: Key) -> ObjectRecord | None:
        """The record of the object; None if nothing is in progress."""
        return self._records.get(self.object_of(key))

    def record(self, key: Key) -> ObjectRecord:
        """The record of the object, a new one if there is none."""
        found = self.find(key)
        if found is None:
            found = self._records[self.object_of(key)] = ObjectRecord()
        return found

    def items(self) -> Iterator[tuple[Key, ObjectRecord]]:
        yield from self._records.items()

    def tidy(self, key: Key) -> None:
        found = self.find(key)
        if found is not None and found.empty:
            del self._records[self.object_of(key)]

    # --- what is decided about Workloads, by `namespace/name`

    def current(self, name: str) -> Workload | None:
        """The Workload as decided, otherwise as stored; None if it does not exist."""
        record, stored = self.find((WORKLOAD, name)), self.workload(name)
        if record is not None and record.decided is not None:
            return record.decided
        return stored.value if stored is not None else None

    def undecide(self, name: str) -> None:
        """Drop the decision: the stored Workload counts from now on."""
        record = self.find((WORKLOAD, name))
        if record is not None:
            record.decided = None
            record.details = {}
            self.tidy((WORKLOAD, name))

    def owed(self, name: str) -> Wait | None:
        """The reason for waiting that the stored Workload does not show yet."""
        record = self.find((WORKLOAD, name))
        return record.owed if record is not None else None

    def owe(self, name: str, reason: Wait | None) -> None:
        """Remember a reason for waiting until the stored Workload shows it; None forgets it."""
        if reason is not None or self.owed(name) is not None:
            self.record((WORKLOAD, name)).owed = reason
            self.tidy((WORKLOAD, name))

    # --- requests and backoffs

    def send(self, key: Key, flight: InFlight) -> None:
        self.record(key).in_flight = flight
        self.in_flight[self.object_of(key)] = None

    def land(self, key: Key) -> None:
        """The request in flight is over."""
        self.in_flight.pop(self.object_of(key), None)
        for view in self._views(key):
            self._early.pop(view, None)
        found = self.find(key)
        if found is not None:
            found.in_flight = None

    def busy(self, key: Key, now: int) -> bool:
        """Whether the object cannot be written: a request is in flight, or it is backing off."""
        found = self.find(key)
        if found is None:
            return False
        return found.in_flight is not None or (found.backoff is not None and now < found.backoff.until)

    def backs_off(self, key: Key, now: int) -> bool:
        found = self.find(key)
        return found is not None and found.backoff is not None and now < found.backoff.until

    def back_off(self, key: Key, now: int) -> int:
        """Start a backoff. Returns the time of its end."""
        record = self.record(key)
        delays = record.backoff.delays if record.backoff is not None else RandomBackoff(FIRST_BACKOFF, LONGEST_BACKOFF)
        record.backoff = Backoff(now + int(delays.next() * SECOND), delays)
        self.backing_off.pop(self.object_of(key), None)
        self.backing_off[self.object_of(key)] = None
        self._forget_old_backoffs(now)
        return record.backoff.until

    def end_backoff(self, key: Key) -> None:
        found = self.object_of(key)
        if found in self.backing_off:
            del self.backing_off[found]
            self._records[found].backoff = None
            self.tidy(found)

    def _forget_old_backoffs(self, now: int) -> None:
        while self.backing_off:
            key = next(iter(self.backing_off))
            backoff = self._records[key].backoff
            if backoff is not None and backoff.until >= now - _REMEMBERED:
                return
            self.end_backoff(key)
