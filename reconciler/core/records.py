"""One record for each object: what is stored of it, what was decided since, what is in flight, when it may be written.

The record is the one place that says which version of an object counts. The scheduler's world follows from it: of each
Workload it holds `ObjectRecord.current`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cluster.retry import RandomBackoff
from reconciler.core.commands import ReadObject, WriteCommand
from reconciler.core.controller import Controller
from reconciler.objects.observed import Key, Observed
from reconciler.objects.progress import ListProgress
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.world.decisions import Wait

WORKLOAD = "Workload"
FIRST_REST, LONGEST_REST = 0.2, 30.0
"""Seconds between two attempts to write an object."""
_REMEMBERED = 600 * SECOND
"""After a rest, in nanoseconds: an object that nobody wants to write again by then is gone, or is well."""


@dataclass(slots=True)
class InFlight:
    """A request about an object, of which it is not known yet what came of it.

    `decided`: the Workload that it writes, where a decision wants it. `wanted` and `controller`: where a controller
    wants it. `held`: it is not under way at the moment, and is sent again after a pause.
    """

    request: WriteCommand | ReadObject
    decided: Workload | None = None
    wanted: WantedWrite | None = None
    controller: Controller | None = None
    held: bool = False


@dataclass(slots=True)
class Rest:
    """Nothing is written of the object until this moment (nanoseconds); each rest in a row is longer."""

    until: int
    backoff: RandomBackoff


@dataclass(slots=True)
class ObjectRecord:
    """`decided`: what decisions have made of a Workload since it was stored. It is in flight, follows what is in
    flight, or waits until the object may be written. `owed`: why a Workload waits, until the object shows it.
    """

    stored: Observed | None = None
    decided: Workload | None = None
    in_flight: InFlight | None = None
    rest: Rest | None = None
    owed: Wait | None = None

    @property
    def current(self) -> Workload | None:
        """The Workload that counts; None where there is none."""
        if self.decided is not None:
            return self.decided
        return self.stored.value if self.stored is not None else None

    @property
    def empty(self) -> bool:
        return self.stored is None and self.decided is None and self.in_flight is None and self.rest is None


class Records:
    """`get`, `known` and `note` may be called from any thread; all else belongs to the core.

    Moments are in nanoseconds.
    `in_flight` and `resting` are indexes of the records, in the order in which that began.
    """

    def __init__(self) -> None:
        self.progress = ListProgress()
        self.in_flight: dict[Key, None] = {}
        self.resting: dict[Key, None] = {}
        self._tracked: set[str] = set()
        self._records: dict[Key, ObjectRecord] = {}
        self._early: dict[Key, Observed] = {}

    def track(self, kind: str) -> None:
        """Nothing may be concluded before all objects of this kind are known."""
        self._tracked.add(kind)

    @property
    def complete(self) -> bool:
        """Whether all objects of each tracked kind are known."""
        return self.progress.listed >= self._tracked

    @property
    def unlisted(self) -> set[str]:
        return self._tracked - self.progress.listed

    # --- what is stored

    def get(self, key: Key) -> Observed | None:
        record = self._records.get(key)
        return record.stored if record is not None else None

    def note(self, observed: Observed) -> Observed:
        """A thread has read this: who takes in the answer of a write about the object need not read the same again."""
        if observed.key in self.in_flight:
            self._early[observed.key] = observed
        return observed

    def known(self, key: Key) -> Observed | None:
        """What was read of the object already, stored or not; it may be of any version."""
        return self._early.get(key) or self.get(key)

    def detail(self, key: Key) -> Any:
        """What is kept of the object for writes; None where there is no such object."""
        observed = self.get(key)
        return observed.detail if observed is not None else None

    def workload(self, name: str) -> Observed | None:
        """The Workload `namespace/name` as it is stored."""
        record = self._records.get((WORKLOAD, name))
        return record.stored if record is not None else None

    def keys(self) -> Iterator[Key]:
        """Of all objects that are stored."""
        return (key for key, record in self._records.items() if record.stored is not None)

    # --- records

    def find(self, key: Key) -> ObjectRecord | None:
        return self._records.get(key)

    def record(self, key: Key) -> ObjectRecord:
        """The record of the object, a new one where there is none yet."""
        found = self._records.get(key)
        if found is None:
            found = self._records[key] = ObjectRecord()
        return found

    def items(self) -> Iterator[tuple[Key, ObjectRecord]]:
        yield from self._records.items()

    def tidy(self, key: Key) -> None:
        """Drop a record that says nothing any more."""
        found = self._records.get(key)
        if found is not None and found.empty:
            del self._records[key]

    # --- what may be written

    def send(self, key: Key, flight: InFlight) -> None:
        self.record(key).in_flight = flight
        self.in_flight[key] = None

    def land(self, key: Key) -> None:
        """What was in flight is over."""
        self.in_flight.pop(key, None)
        self._early.pop(key, None)
        found = self._records.get(key)
        if found is not None:
            found.in_flight = None

    def busy(self, key: Key, now: int) -> bool:
        """Whether nothing can be written of the object: a request is in flight, or it rests."""
        found = self._records.get(key)
        if found is None:
            return False
        return found.in_flight is not None or (found.rest is not None and now < found.rest.until)

    def rests(self, key: Key, now: int) -> bool:
        found = self._records.get(key)
        return found is not None and found.rest is not None and now < found.rest.until

    def rest(self, key: Key, now: int) -> int:
        """Nothing is written of the object for a while; the moment when that ends."""
        record = self.record(key)
        backoff = record.rest.backoff if record.rest is not None else RandomBackoff(FIRST_REST, LONGEST_REST)
        record.rest = Rest(now + int(backoff.next() * SECOND), backoff)
        self.resting.pop(key, None)
        self.resting[key] = None
        self._forget_old_rests(now)
        return record.rest.until

    def end_rest(self, key: Key) -> None:
        """The object may be written, and its next rest is short again."""
        if key in self.resting:
            del self.resting[key]
            self._records[key].rest = None

    def _forget_old_rests(self, now: int) -> None:
        while self.resting:
            key = next(iter(self.resting))
            rest = self._records[key].rest
            if rest is not None and rest.until >= now - _REMEMBERED:
                return
            self.end_rest(key)
            self.tidy(key)
