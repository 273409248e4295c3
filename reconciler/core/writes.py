"""Writes: the requests in flight, their results, and the requests to send again.

No write is lost: a write that may have been executed is sent again until the API server reports the result. Until then
reserved quota stays reserved. Each write is bound to a resource version. So a write that is sent twice is executed at
most once, and after a conflict no late copy of it can succeed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cluster.actions import Action, Create, Delete, Patch
from cluster.errors import ClusterError, Conflict, NotFound
from cluster.versions import is_older
from policies.dialects.reading import metadata
from reconciler.core.commands import Command, ReadObject, WriteCommand
from reconciler.core.controller import Controller
from reconciler.core.informer import Informer
from reconciler.core.records import WORKLOAD, InFlight, ObjectRecord
from reconciler.core.retries import Retries, concerns_one_object, refused
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.outcomes import Failed, LeaseLost, Written
from reconciler.objects.patches import ADMISSION_MANAGER, alike, patched, spec_patch, status_patch
from reconciler.objects.wanted import ObjectReference, WantedWrite, reference
from reconciler.objects.watched import WORKLOAD_VIEW
from reconciler.recorder.journal import followed
from reconciler.recorder.recorder import REFUSED, EventRecorder, concerning
from scheduling.objects.workload import Workload

log = logging.getLogger(__name__)
EVENT = "Event"
TAKEN_OVER_AT = "quotree.dev/taken-over-at"
"""The annotation that an empty write sets: the version of the object when another process took over."""

_NO_DETAILS: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class Stats:
    """Counts of scheduling cycles, and of the results of writes."""

    cycles: int = 0
    written: int = 0
    failed: int = 0


class PendingWrites:
    """The writes in flight. Commands to execute are appended to `commands`. Times are in nanoseconds."""

    def __init__(self, informer: Informer, recorder: EventRecorder, commands: list[Command], stats: Stats) -> None:
        self.retries = Retries()
        self._informer = informer
        self._records = informer.records
        self._recorder = recorder
        self._commands = commands
        self._stats = stats

    # --- writes

    def start(self, wanted: WantedWrite, controller: Controller | None = None) -> None:
        """Send the write, unless a request about the object is in flight. Then the controller waits and tries again."""
        if wanted.action is not None and self._in_flight(wanted.key) is None:
            request = WriteCommand(wanted.key, wanted.action)
            self._send(wanted.key, InFlight(request, wanted=wanted, controller=controller))

    def ask(self, key: Key) -> None:
        """Read the object, unless a request about it is in flight."""
        if self._in_flight(key) is None:
            self._send(key, InFlight(ReadObject(key)))

    def decide(self, after: Workload, now: int, details: Mapping[str, str] = _NO_DETAILS) -> bool:
        """Decide that the Workload changes to `after`. If an earlier decision is in flight, this write follows it.

        `details`: by reason, what the decision adds to the Event of the change.
        Returns whether a write is in flight. If the Workload may not be written now, the decision counts until it may.
        """
        key = (WORKLOAD, after.key)
        record, stored = self._records.record(key), self._records.workload(after.key)
        record.decided = after
        record.details.update(details)
        if record.in_flight is not None and record.in_flight.decided is not None:
            return True
        if stored is None or self._records.busy(key, now):
            return False  # the response to the request in flight leads to a new decision
        patch = _change(stored.value, after)
        if patch is not None:
            self._send(key, InFlight(WriteCommand(key, patch), decided=after))
        return patch is not None

    def give_back(self, after: Workload) -> None:
        """Write a Workload that releases its quota. Its quota counts as used until the write is stored."""
        stored = self._records.workload(after.key)
        if stored is not None:
            self.start(WantedWrite(stored.key, _change(stored.value, after)))

    def emit(self, event: Create) -> None:
        """Send an Event. A lost Event does no harm, because the conditions have the same information."""
        self._commands.append(WriteCommand((EVENT, event.name), event))

    def send_again(self, now: int) -> None:
        for key in self.retries.due(now):
            record = self._records.find(key)
            if record is not None and record.in_flight is not None and record.in_flight.postponed:
                record.in_flight.postponed = False
                self._commands.append(record.in_flight.request)

    def doubt_decisions(self) -> None:
        """Do not send postponed changes again: another process may have decided since. Read their objects instead.

        An object that the change gives quota gets an empty write. If the change is still on its way, it then fails with
        a conflict. The controller does not get the response, and decides again.
        """
        for key in self._records.in_flight:
            flight = self._in_flight(key)
            if flight is not None and flight.postponed and _changes(flight.request):
                gives = key[0] == WORKLOAD or (flight.wanted is not None and flight.wanted.gives_quota)
                own = flight.request.key
                stored = self._records.at(own) if gives else None
                flight.request = ReadObject(own) if stored is None else WriteCommand(own, self._fence(stored))
                flight.wanted = flight.controller = None

    def fence(self, stored: Observed[object]) -> None:
        """Write only an annotation of the object. An earlier write with the same version fails after it."""
        self.start(WantedWrite(stored.key, self._fence(stored)))

    def _fence(self, stored: Observed[object]) -> Patch:
        body = {"metadata": {"annotations": {TAKEN_OVER_AT: stored.version}}}
        resource = self._informer.watched[stored.key[0]].resource
        return Patch(resource, stored.namespace, stored.name, body, stored.version, ADMISSION_MANAGER)

    def _send(self, key: Key, flight: InFlight) -> None:
        self._records.send(key, flight)
        self._commands.append(flight.request)

    # --- results

    def written(self, outcome: Written, now: int) -> None:
        self._stats.written += 1
        key = outcome.key
        if key[0] == EVENT:
            return
        self.retries.answered()
        if isinstance(outcome.action, Delete):
            self._carried_out(key, now)
            self._deleted(key, outcome, now)
            return
        views = self._informer.views(key, outcome.manifest)
        self._show_writer(views[0], outcome)
        if _without_effect(outcome, views[0]):
            self._back_off_without_effect(key, outcome.action, now)
        else:
            self._carried_out(key, now)
        if not self._followed_up(views[0], now):
            self.answered(key, views, now)

    def _show_writer(self, observed: Observed[object], outcome: Written) -> None:
        """Pass the result of the write to the controller that wanted it."""
        flight = self._in_flight(outcome.key)
        if flight is not None and flight.controller is not None:
            flight.controller.written(outcome.action, observed)

    def _deleted(self, key: Key, outcome: Written, now: int) -> None:
        """A deletion was accepted. The watch reports when the object is gone; until then no second one is sent."""
        meta = metadata(outcome.manifest)
        if meta.get("deletionTimestamp") and meta.get("resourceVersion"):
            views = self._informer.views(key, outcome.manifest)
            self._show_writer(views[0], outcome)
            for observed in views:
                if self._records.at(observed.key) is not None and self._informer.selected(observed):
                    self._informer.accept(observed, now)
        self._finish(key, now)

    def _followed_up(self, observed: Observed[object], now: int) -> bool:
        """Write a later decision at once, if the object is as that decision assumed. Returns whether that was so."""
        record, stored = self._records.find(observed.key), self._records.at(observed.key)
        if record is None or record.in_flight is None or stored is None:
            return False
        expected, wanted, found = record.in_flight.decided, record.decided, WORKLOAD_VIEW.value(observed)
        if expected is None or wanted is None or wanted is expected or is_older(observed.version, stored.version):
            return False
        if found is None or not alike(found, expected):
            return False
        self._informer.store(observed, now)
        self._records.land(observed.key)
        return self.decide(wanted, now)

    def answered(self, key: Key, views: Iterable[Observed[object]], now: int) -> None:
        """Process the object of a response, unless the watch has already reported that the object is gone."""
        for observed in views:
            known = self._records.at(observed.key) is not None
            if self._informer.selected(observed) and (known or not self._records.progress.passed(observed)):
                self._informer.accept(observed, now)
        self._finish(key, now)

    def failed(self, outcome: Failed, now: int) -> None:
        self._stats.failed += 1
        key, action, error = outcome.key, outcome.action, outcome.error
        if key[0] == EVENT:
            return
        if isinstance(error, Conflict):
            self._read_again(key)
        elif isinstance(error, NotFound):
            self._not_found(key, action, now)
        elif refused(error):
            self._refused(key, action, error, now)
        elif not isinstance(error, ClusterError):
            self._internal_error(key, error, now)
        elif isinstance(error, LeaseLost) or concerns_one_object(error):
            self._send_later(key, action, error, now)
        else:
            if action is not None:
                log.warning("%s %s: %s", *key, error, extra=self._followed(key))
            self._postpone(key, ReadObject(key) if action is None else WriteCommand(key, action))
            self.retries.pause(self._records.object_of(key), error, now)

    def _send_later(self, key: Key, action: Action | None, error: ClusterError, now: int) -> None:
        """Send the request again after a backoff of the object. A lost Lease is not logged for each write."""
        if not isinstance(error, LeaseLost):
            log.warning("%s %s: %s", *key, error, extra=self._followed(key))
        self._postpone(key, ReadObject(key) if action is None else WriteCommand(key, action))
        self.retries.postpone(self._records.object_of(key), self._informer.back_off(key, now))

    def _read_again(self, key: Key) -> None:
        self._commands.append(self._replace_request(key, ReadObject(key)).request)

    def _postpone(self, key: Key, request: WriteCommand | ReadObject) -> None:
        self._replace_request(key, request).postponed = True

    def _replace_request(self, key: Key, request: WriteCommand | ReadObject) -> InFlight:
        """Replace the request in flight for the object by this one, and return it."""
        flight = self._in_flight(key)
        if flight is None:
            flight = InFlight(request)
            self._records.send(key, flight)
        flight.request, flight.postponed = request, False
        return flight

    def _internal_error(self, key: Key, error: Exception, now: int) -> None:
        """Read the object again after a backoff. Other objects are not delayed."""
        log.warning(
            "%s %s: %s: %s; it is looked at again later", *key, type(error).__name__, error, extra=self._followed(key)
        )
        self._postpone(key, ReadObject(key))
        self.retries.postpone(self._records.object_of(key), self._informer.back_off(key, now))

    def _not_found(self, key: Key, action: Action | None, now: int) -> None:
        """Start a backoff. Forget the object that a patch did not find, unless a newer one with its name is stored.

        The watch may hang and report the deletion much later.
        """
        stored = self._records.at(key)
        bound = action.resource_version if isinstance(action, Patch) else ""
        newer = stored is not None and bound not in ("", stored.version)
        if bound and not newer:
            self._records.lose(key, bound)
        if not newer:
            self._informer.back_off(key, now)
        if self._records.at(key) is None:
            self._informer.missed(key)
        self._finish(key, now)

    def _refused(self, key: Key, action: Action | None, error: Exception, now: int) -> None:
        log.warning("%s %s: %s", *key, error, extra=self._followed(key))
        about = self._about(key)
        if about is not None and isinstance(action, Create | Patch | Delete):
            flight = self._in_flight(key)
            reason = flight.wanted.refusal if flight is not None and flight.wanted is not None else ""
            self._recorder.write_refused(about, action, key[1], error, whole_second(now), reason or REFUSED)
        self._informer.back_off(key, now)
        self._finish(key, now)

    def _back_off_without_effect(self, key: Key, action: Action, now: int) -> None:
        """Start a backoff, because nothing of the write was stored: for example, the kind's schema lacks a field."""
        assert isinstance(action, Patch)
        fields = ", ".join(patched(action.body)) or "no field"
        log.warning(
            "%s %s: a change of %s was accepted, but nothing of it was stored", *key, fields, extra=self._followed(key)
        )
        about = self._about(key)
        if about is not None:
            which = f"{action.resource.plural} {key[1]}"
            self._recorder.write_without_effect(about, which, fields, whole_second(now))
        self._informer.back_off(key, now)

    def _carried_out(self, key: Key, now: int) -> None:
        """Record the Event of a write that was executed."""
        self._informer.end_backoff(key, now)
        flight = self._in_flight(key)
        if flight is not None and flight.wanted is not None:
            self._recorder.wanted(flight.wanted, whole_second(now), self.concerned(flight.wanted))

    def _about(self, key: Key) -> ObjectReference | None:
        """The object that an Event about a failed write refers to."""
        flight = self._in_flight(key)
        if flight is not None and flight.wanted is not None and flight.wanted.about is not None:
            return concerning(flight.wanted.about, self.concerned(flight.wanted))
        stored = self._records.workload(key[1]) if key[0] == WORKLOAD else None
        return reference(stored.value) if stored is not None else None

    def concerned(self, wanted: WantedWrite) -> Workload | None:
        """The Workload that is written, or the one that the written job or Pod belongs to."""
        kind, name = wanted.key
        return self._records.current(wanted.workload or (name if kind == WORKLOAD else ""))

    def _followed(self, key: Key) -> dict[str, dict[str, str]]:
        """The fields that identify the objects in a log line about a write."""
        return {"fields": followed(self._about(key))}

    def _in_flight(self, key: Key) -> InFlight | None:
        record: ObjectRecord | None = self._records.find(key)
        return record.in_flight if record is not None else None

    def _finish(self, key: Key, now: int) -> None:
        """No request is in flight any more: the world uses the stored version, and waiting items wake up."""
        self._records.land(key)
        if key[0] == WORKLOAD:
            self._informer.enter(key[1], now)
        self._informer.freed(key, now)
        self._records.tidy(key)


def _change(before: Workload, after: Workload) -> Patch | None:
    return spec_patch(before, after) or status_patch(before, after, ADMISSION_MANAGER)


def _changes(request: WriteCommand | ReadObject) -> bool:
    return isinstance(request, WriteCommand) and isinstance(request.action, Patch)


def _without_effect(outcome: Written, observed: Observed[object]) -> bool:
    """Whether the API server accepted a patch and stored nothing of it."""
    action = outcome.action
    return isinstance(action, Patch) and observed.version == action.resource_version and not _gone(outcome)


def _gone(outcome: Written) -> bool:
    """Whether the deletion only waited for this write. Then the response has the version from before the write."""
    meta = metadata(outcome.manifest)
    return bool(meta.get("deletionTimestamp")) and not meta.get("finalizers")
