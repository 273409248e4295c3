"""An API server in memory, with replicas of the webhook in front of it: every wait, fault and order is drawn."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cluster.errors import ApiError, Conflict, Unreachable
from cluster.sightings import Sighting, Sightings, Snapshot, scope, sighting
from policies.dialects import read
from policies.judge import judge
from policies.judging.changes import changed
from policies.model.change import Change
from policies.model.forest import Forest
from policies.model.objects import Ref
from tests.builders import EVERYTHING
from webhook.ledger.contents import LedgerContents
from webhook.ledger.direct_reads import DirectRead
from webhook.ledger.entry import LedgerEntry, entry, new_entry
from webhook.ledger.requested import RequestedChange, SequencedState
from webhook.ledger.sequencer import Sequencer

Manifest = dict[str, Any]


class Crash(BaseException):
    """The process is gone in the middle of a line."""


class Event(NamedTuple):
    kind: str
    manifest: Manifest
    version: str


@dataclass(slots=True)
class InFlight:
    """A request that was allowed and not yet stored."""

    ref: Ref
    base: str
    uid: str
    after: Manifest | None
    until: float
    request: str = ""
    user: str = ""


@dataclass(slots=True)
class Api:
    """Objects, the ledger's ConfigMap, and everything that ever happened to the objects."""

    chance: random.Random
    now: float = 0.0
    version: int = 1
    objects: dict[Ref, Manifest] = field(default_factory=dict)
    ledger: dict[str, str] = field(default_factory=dict)
    ledger_version: int = 1
    events: list[Event] = field(default_factory=list)
    in_flight: list[InFlight] = field(default_factory=list)
    late_writes: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    reviews: int = 0

    def next(self) -> str:
        self.version += 1
        return str(self.version)

    def clock(self) -> float:
        return self.now

    def contents(self) -> LedgerContents:
        entries = {request: entry(request, text) for request, text in self.ledger.items() if request != "seen"}
        return LedgerContents(str(self.ledger_version), entries, json.loads(self.ledger.get("seen", "{}")))

    def write_ledger(self, version: str, data: dict[str, str | None]) -> LedgerContents:
        """A merge patch with the version as precondition."""
        if version != str(self.ledger_version):
            raise Conflict(409, "Conflict", "changed")
        after = {key: text for key, text in {**self.ledger, **data}.items() if text is not None}
        if after != self.ledger:
            self.ledger = after
            self.ledger_version = int(self.next())
        return self.contents()

    def store(self, flight: InFlight) -> bool:
        """Whether it was stored: only on top of the version that it is based on."""
        there = self.objects.get(flight.ref)
        if (there["metadata"]["resourceVersion"] if there else "") != flight.base:
            return False
        if flight.after is None:
            assert there is not None
            del self.objects[flight.ref]
            kind, body = "DELETED", there
        else:
            kind, body = ("MODIFIED" if there else "ADDED"), flight.after
        version = self.next()
        stored = {**body, "metadata": {**body["metadata"], "resourceVersion": version, "uid": flight.uid}}
        if flight.after is not None:
            self.objects[flight.ref] = stored
        self.events.append(Event(kind, stored, version))
        return True

    def look(self, ref: Ref) -> DirectRead | None:
        there = self.objects.get(ref)
        return DirectRead(read(there), sighting(there)) if there else None


class LedgerStore:
    """The ledger as one replica reaches it; `faults` is how likely each request goes wrong."""

    def __init__(self, api: Api, faults: float) -> None:
        self._api = api
        self._faults = faults
        self._newest: LedgerContents | None = None

    def newest(self) -> LedgerContents | None:
        return self._newest

    def hear(self) -> None:
        """The watch shows the present state."""
        self._newest = self._api.contents()

    def read(self) -> LedgerContents:
        self._fail_perhaps()
        self.hear()
        return self._api.contents()

    def write(
        self,
        contents: LedgerContents,
        added: Iterable[LedgerEntry],
        dropped: Iterable[str],
        watermarks: dict[str, str | None],
    ) -> LedgerContents:
        data: dict[str, str | None] = dict.fromkeys(dropped)
        data |= {each.request: each.text for each in added}
        if watermarks:
            kept = {place: value for place, value in {**contents.watermarks, **watermarks}.items() if value is not None}
            data["seen"] = json.dumps(kept)
        self._fail_perhaps()
        if self._api.chance.random() < self._faults:
            self._go_wrong(contents.version, data)
        self._newest = self._api.write_ledger(contents.version, data)
        if self._api.chance.random() < self._faults:
            raise self._api.chance.choice([Crash(), Unreachable("api", "reset", "look")])
        return self._newest

    def _fail_perhaps(self) -> None:
        if self._api.chance.random() < self._faults:
            raise self._api.chance.choice([ApiError(429, "", ""), ApiError(500, "", ""), Crash()])

    def _go_wrong(self, version: str, data: dict[str, str | None]) -> None:
        """The write is on its way when the connection breaks or the process ends: it may arrive much later."""
        self._api.late_writes.append((version, data))
        raise self._api.chance.choice([Crash(), Unreachable("api", "timeout", "look")])


class Replica:
    """One process: a cache that lags, and a sequencer."""

    def __init__(self, api: Api, faults: float) -> None:
        self.api = api
        self.store = LedgerStore(api, faults)
        self.sequencer = Sequencer(self.store, lambda: self.snapshot, api.clock, lambda _: None)
        self.lent = 0
        self._position = len(api.events)
        self.snapshot = _listed(api)

    def hear(self, events: int) -> None:
        """The watches show so many of the events that are outstanding."""
        for event in self.api.events[self._position :][:events]:
            self._position += 1
            obj, seen = read(event.manifest), sighting(event.manifest)
            assert obj is not None
            forest, sightings = self.snapshot.forest, self.snapshot.sightings
            if event.kind == "DELETED":
                self.snapshot = Snapshot(forest.drop(obj.ref), sightings.drop(obj.ref, seen))
            else:
                self.snapshot = Snapshot(forest.put(obj), sightings.put(obj.ref, seen))

    def relist(self) -> None:
        """The watch broke, and what it missed is only in the result."""
        self._position = len(self.api.events)
        self.snapshot = _listed(self.api)

    def tidy(self) -> None:
        looked = [(entry, self.api.look(entry.ref)) for entry in self.sequencer.overdue()]
        self.sequencer.tidy(looked)

    def review(
        self, asks: list[tuple[Manifest | None, Manifest | None]], patience: float = 60.0, user: str = "ada"
    ) -> list[SequencedState]:
        """Requests that arrive together; those that are allowed may be stored for `patience` seconds."""
        asked = [self._asked(old, new, user) for old, new in asks]
        self.sequencer.serve(asked)
        if again := [each for each in asked if each.state is SequencedState.UNDECIDED]:
            lent = [entry for each in again for entry in self.sequencer.worth_reading(each)]
            self.lent += len(lent)
            for entry in lent:
                self.sequencer.note(entry, self.api.look(entry.ref))
            self.sequencer.serve(again)
        for each, (_, new) in zip(asked, asks, strict=True):
            if each.state is SequencedState.ALLOWED and each.failure is None:
                assert each.entry is not None
                until = self.api.now + patience
                entry = each.entry
                flight = InFlight(each.change.ref, entry.base, entry.uid, new, until, entry.request, user)
                self.api.in_flight.append(flight)
        return [each.state for each in asked]

    def give_up(self, user: str) -> None:
        """The client of the last request that may still be stored ends it, in time: the answer was not given."""
        flight = next((each for each in reversed(self.api.in_flight) if each.user == user), None)
        if flight is not None:
            self.api.in_flight.remove(flight)
            self.sequencer.abandon(flight.request)

    def _asked(self, old: Manifest | None, new: Manifest | None, user: str) -> RequestedChange:
        api = self.api
        api.reviews += 1
        change = changed(old, new)
        assert change is not None
        if old is None and new is not None:
            new = {**new, "metadata": {**new["metadata"], "uid": f"uid-{api.reviews}"}}
        record = new_entry(f"request-{api.reviews}", change.ref, old, new, user, "now")
        return RequestedChange(
            change, lambda forest: _judged(forest, change), record, deadline=api.now + 2.0, since=api.now
        )


def _judged(forest: Forest, change: Change) -> Any:
    return judge(forest, [change])


def _listed(api: Api) -> Snapshot:
    objects = [obj for manifest in api.objects.values() if (obj := read(manifest))]
    found = {obj.ref: Sighting(*sighting(api.objects[obj.ref])) for obj in objects}
    sightings = Sightings()
    for kind in EVERYTHING:
        place = scope(Ref(*kind, "", ""))
        own = {ref: seen for ref, seen in found.items() if scope(ref) == place}
        sightings = sightings.listed(place, str(api.version), (), own)
    return Snapshot(Forest.of(objects, known=EVERYTHING), sightings)
