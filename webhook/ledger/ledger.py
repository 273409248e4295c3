"""Orders the changes of all replicas: requests take turns, and wait for changes that are not stored yet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from cluster.errors import ClusterError
from cluster.sightings import Sighting
from cluster.store import ManifestCache
from cluster.tracing.ids import trace_id
from policies.judge import Judgement
from policies.judging.verdict import Verdict
from policies.model.change import Change, ChangeOperation
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Ref
from webhook.ledger.direct_reads import DirectRead
from webhook.ledger.entry import LedgerEntry
from webhook.ledger.requested import MANY_FORESTS, AlreadyExists, RequestedChange, SequencedState
from webhook.ledger.sequencer import Sequencer
from webhook.ledger.store import ConfigMapStore, LedgerUnavailable

log = logging.getLogger(__name__)

DECIDING_SECONDS = 2.0
"""How long a change may wait for other changes and for the ledger, in seconds. The API server waits 3 s for the
webhook."""
_REMEMBERED_WAIT_SECONDS = 1.8
"""The seconds that a change may wait for entries of remembered authors. For others it is half of DECIDING_SECONDS."""
_LOOK_AFTER = 0.15
"""If a watch does not show an object within this many seconds, the object is read, and read again after the same
time."""
_POLL = 0.005
SILENT_SECONDS = 120.0
"""A cache that is older may be behind a removed watermark, so no change is allowed. Longer than a watch lasts
(`cluster.reflector.Pacing`), shorter than a watermark is kept (`LINGERING_SECONDS`)."""


class Ledger:
    """The ledger of one replica. If several threads wait for a turn, one of them serves all of them in one turn.

    `patience`: `WebhookSettings.patience_seconds`.
    `waiting`: how many threads may wait with `patience` at a time.
    """

    def __init__(
        self,
        store: ConfigMapStore,
        cache: ManifestCache,
        *,
        patience: float = 0.0,
        waiting: int = 4,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._store = store
        self._cache = cache
        self._patience = patience
        self._room = threading.Semaphore(waiting)
        self._clock = clock
        self._pause = pause
        self._sequencer = Sequencer(store, cache.snapshot, clock, pause)
        self._turn = threading.Lock()
        self._queue = threading.Lock()
        self._waiting: list[RequestedChange] = []

    def decide(self, change: Change, judge: Callable[[Forest], Judgement], entry: LedgerEntry | None) -> Judgement:
        """Return a judgement that holds whether other open changes are stored or not. `entry` is None for a dry run.

        Waits DECIDING_SECONDS at most; `patience` for objects that the cache may lack. Raises LedgerUnavailable if no
        such judgement is possible, AlreadyExists if the name of a new object is taken.
        """
        if (self._cache.age() or 0.0) > SILENT_SECONDS:
            raise LedgerUnavailable("this replica has not heard from the API server for minutes; try again")
        started = self._clock()
        asked = RequestedChange(change, judge, entry, deadline=started + DECIDING_SECONDS, since=started)
        look_at = started + _LOOK_AFTER
        gone: Sighting | None = None
        while True:
            judged_on = self._state()
            gone = self._taken(asked, gone)
            self._take_turn(asked)
            now, undecided = self._clock(), asked.state is SequencedState.UNDECIDED
            give_up = started + self._waiting_seconds(asked)
            if undecided and now < give_up and self._look(self._sequencer.worth_reading(asked)):
                continue
            if undecided and now < give_up:
                if not self._news(judged_on, min(look_at, give_up)) and self._clock() >= look_at:
                    self._look(asked.others)
                    look_at += _LOOK_AFTER
            elif undecided and asked.max_forests < MANY_FORESTS:
                asked.max_forests = MANY_FORESTS
            elif not (_may_be_stale(asked) and self._patiently(judged_on, started + self._patience)):
                break
        if asked.entry is not None and asked.state is SequencedState.ALLOWED and self._sequencer.too_late(asked):
            with self._turn:
                self._sequencer.void(asked.entry.request)
            raise LedgerUnavailable("the ledger took too long; try again")
        return _given(asked)

    def _waiting_seconds(self, asked: RequestedChange) -> float:
        """How long the change may wait for others. Longer for remembered authors, whose entries may soon not count."""
        return _REMEMBERED_WAIT_SECONDS if self._sequencer.awaits_remembered_author(asked) else DECIDING_SECONDS / 2

    def _taken(self, asked: RequestedChange, gone: Sighting | None) -> Sighting | None:
        """Raise AlreadyExists if the name of a new object is taken. Return the cached sighting of the name.

        Only names in the cache are looked up; any other existing name has an entry or a watermark. `gone`: a sighting
        whose name was already looked up, and not found.
        """
        entry = asked.entry
        if entry is None or entry.operation is not ChangeOperation.CREATE:
            return None
        seen = self._cache.snapshot().sightings.of(entry.ref)
        if seen is None or seen == gone or seen.uid == entry.uid:
            return seen
        try:
            found = self._cache.look(entry.ref)
        except ClusterError as error:
            raise LedgerUnavailable(f"whether {entry.ref} exists cannot be read: {error}") from error
        if found is not None:
            raise AlreadyExists(entry.ref)
        return seen

    def tidy(self) -> None:
        """Remove the entries that are settled or were never stored. Raises ClusterError, UnreadableEntry."""
        with self._turn:
            overdue = self._sequencer.overdue()
        looked = [(entry, self._read_directly(entry.ref)) for entry in overdue]
        with self._turn:
            self._sequencer.tidy(looked)

    def abandon(self, request: str) -> None:
        """Void the entry of a request whose client has gone. The next write removes it."""
        with self._turn:
            self._sequencer.abandon(request)

    def observe(self) -> None:
        """Measure how long changes take to be stored. Does nothing while a turn is under way."""
        if self._turn.acquire(blocking=False):
            try:
                self._sequencer.observe()
            finally:
                self._turn.release()

    def _take_turn(self, asked: RequestedChange) -> None:
        """Wait for the turn. Then serve all waiting changes, unless another thread has served this one."""
        asked.served = False
        with self._queue:
            self._waiting.append(asked)
        with self._turn:
            if asked.served:
                return
            with self._queue:
                batch, self._waiting = self._waiting, []
            self._sequencer.serve(batch)
            for each in batch:
                each.served = True

    def _state(self) -> tuple[object, object]:
        """The snapshot and the ledger that a judgement is based on. A change of either one is news."""
        return self._cache.snapshot(), self._store.newest()

    def _patiently(self, judged_on: tuple[object, object], deadline: float) -> bool:
        """Wait for news until the deadline; True if some came. False at once if too many threads wait already."""
        if not self._room.acquire(blocking=False):
            return False
        try:
            return self._news(judged_on, deadline)
        finally:
            self._room.release()

    def _news(self, judged_on: tuple[object, object], deadline: float) -> bool:
        """Wait until the snapshot or the ledger changes. False if neither does before the deadline."""
        while self._clock() < deadline:
            if any(new is not old for new, old in zip(self._state(), judged_on, strict=True)):
                return True
            self._pause(_POLL)
        return False

    def _look(self, entries: Iterable[LedgerEntry]) -> bool:
        """Read the objects of these entries, since the watch may be slow to show them. False if one cannot be read, or
        there are none."""
        entry = None
        for entry in entries:
            try:
                found = self._read_directly(entry.ref)
            except ClusterError as error:
                fields = {"uid": entry.request, "trace": trace_id(entry.request)}
                log.warning("%s cannot be read: %s", entry.ref, error, extra={"fields": fields})
                return False
            with self._turn:
                self._sequencer.note(entry, found)
        return entry is not None

    def _read_directly(self, ref: Ref) -> DirectRead | None:
        found = self._cache.look(ref)
        if found is None:
            return None
        stored = found.kept if isinstance(found.kept, KubeObject) else None
        return DirectRead(stored, found.seen)


def _may_be_stale(asked: RequestedChange) -> bool:
    """Whether the change is refused because of other objects, which the cache may have in an old version."""
    verdict = asked.judgement.verdict if asked.state is SequencedState.REFUSED and asked.judgement else Verdict()
    return any(not judged.rule.alone for judged in verdict.of(Severity.ERROR))


def _given(asked: RequestedChange) -> Judgement:
    """The judgement to answer. Raises the failure if there is one."""
    if asked.failure is not None or asked.judgement is None:
        raise asked.failure or LedgerUnavailable("the ledger reached no verdict in time; try again")
    return asked.judgement if asked.state is not SequencedState.UNDECIDED else _pending(asked.judgement, asked.others)


def _pending(judgement: Judgement, others: Sequence[LedgerEntry]) -> Judgement:
    """The refusal, with a note in its fix that it depends on changes that may never be stored."""
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    note = f"it depends on changes not stored yet ({others[0]}{more}): if one fails, try again in a minute"
    findings = tuple(
        replace(judged, finding=replace(judged.finding, fix="; ".join(filter(None, (judged.finding.fix, note)))))
        if judged.severity is Severity.ERROR
        else judged
        for judged in judgement.verdict.findings
    )
    return replace(judgement, verdict=replace(judgement.verdict, findings=findings))
