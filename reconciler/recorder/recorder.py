"""Records Events about Workloads, jobs and queues at a limited rate. Most of them are logged, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cluster.actions import Apply, Create, Delete, Evict, Patch
from cluster.errors import ApiError
from reconciler.objects.following import workload_trace
from reconciler.objects.wanted import ObjectReference, WantedWrite, reference
from reconciler.recorder.correlator import EventCorrelator
from reconciler.recorder.journal import Journal
from reconciler.recorder.workload_events import priorities, workload_news
from scheduling.objects.workload import Workload
from scheduling.world.decisions import Preempt

REFUSED, WITHOUT_EFFECT = "WriteRefused", "WriteWithoutEffect"
_VERBS: dict[type, str] = {Create: "create", Patch: "change", Apply: "change", Delete: "delete", Evict: "evict"}


class EventRecorder:
    """Records Events. Times are in nanoseconds. A lost Event does no harm: conditions show the present state."""

    def __init__(self) -> None:
        self._events = EventCorrelator()
        self._journal = Journal()

    def _record(
        self, about: ObjectReference | None, reason: str, message: str, now: int, *, warning: bool = False
    ) -> None:
        if about is None:
            return
        self._events.record(about, reason, message, now, warning=warning)
        self._journal.note(about, reason, message, now, warning=warning)

    def workload_changed(self, before: Workload, after: Workload, now: int, details: Mapping[str, str]) -> None:
        """`details`: by reason, what the decision that caused the change adds to the Event."""
        about = None
        for news in workload_news(before, after):
            about = about or reference(after)
            message = news.message + details.get(news.reason, "")
            self._record(about, news.reason, message, now, warning=news.warning)

    def preempted(self, decision: Preempt, now: int) -> None:
        """Record the Event on the preemptor. The change of the victim causes the other Events."""
        held = decision.target.reservation
        victim, queue = held.workload, held.queue.node.name
        message = f"Preempted workload {victim.key} (UID: {victim.uid}) in ClusterQueue {queue}{priorities(decision)}"
        self._record(reference(decision.preemptor), "PreemptedWorkload", message, now)

    def not_placed(self, workload: Workload, message: str, now: int) -> None:
        """A workload with quota has no places for all its pods."""
        self._record(reference(workload), "SecondPassFailed", message, now, warning=True)

    def wanted(self, write: WantedWrite, now: int, workload: Workload | None = None) -> None:
        """Record the Event of a write, if it has one. `workload`: the Workload that the written object belongs to."""
        if write.reason and write.about is not None:
            about = concerning(write.about, workload)
            new = self._events.record(about, write.reason, write.message, now, warning=write.warning)
            if new or write.action is not None:  # an unchanged reason without a write is logged once
                self._journal.note(about, write.reason, write.message, now, warning=write.warning)

    def write_refused(
        self,
        about: ObjectReference,
        action: Create | Patch | Delete,
        name: str,
        error: Exception,
        now: int,
        reason: str = REFUSED,
    ) -> None:
        which = f"{_VERBS[type(action)]} {action.resource.plural} {name}"
        message = f"The API server refused to {which}: {_error_message(error)}; it is tried again later"
        self._events.record(about, reason, message, now, warning=True)

    def write_without_effect(self, about: ObjectReference, which: str, fields: str, now: int) -> None:
        """The API server accepted a write, but stored nothing of it."""
        message = (
            f"The API server accepted a change of {fields} in {which} and stored nothing of it; check whether "
            "the definition of its kind has these fields. Quotree retries later"
        )
        self._events.record(about, WITHOUT_EFFECT, message, now, warning=True)

    def due(self, now: int, *, calm: bool = True) -> list[Create]:
        """The Events that may be written now. `calm`: whether few other writes are in flight."""
        return self._events.due(now, calm=calm)


def concerning(about: ObjectReference, workload: Workload | None) -> ObjectReference:
    """The reference with the trace id of its Workload, if that is known."""
    return about if workload is None or about.trace else replace(about, trace=workload_trace(workload))


def _error_message(error: Exception) -> str:
    """The message of the API server without the URL of the request."""
    return error.message or error.reason if isinstance(error, ApiError) else str(error)
