"""A loop whose core is checked after every event, on functions of a test instead of an API server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cluster.actions import Action, Create
from cluster.resource import Resource
from cluster.tracing.span import SpanRecorder
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.pods import PodsController
from reconciler.controllers.status import StatusController
from reconciler.core.commands import Command, ReadObject, WriteCommand
from reconciler.core.controller import Controller
from reconciler.core.core import Core
from reconciler.core.events import Continue, Event, TimePassed
from reconciler.core.state import ClusterState
from reconciler.core.writes import EVENT
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, ObjectRead, Written
from reconciler.objects.watched import WatchedResource
from reconciler.observer.observer import Observer
from reconciler.observer.spans import SpanObserver
from reconciler.shell.loop import Loop
from reconciler.shell.write_spans import WriteSpans
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.observability import LEGACY, Observability
from tests.reconciler.core.invariants import violations

MakeController: TypeAlias = Callable[[ClusterState], Controller]


def nothing(*_: object) -> None:
    """Ignores a command."""


def without_events(write: Callable[[Key, Action], None]) -> Callable[[Key, Action], None]:
    """The same for all but Events."""
    return lambda key, action: None if key[0] == EVENT else write(key, action)


def jobs(state: ClusterState) -> JobsController:
    """Of batch Jobs."""
    return JobsController(state.records.workload)


def pods(state: ClusterState) -> PodsController:
    return PodsController(state.records.workload)


def statuses(state: ClusterState) -> StatusController:
    return StatusController(state.world, state.records)


@dataclass
class Asks:
    """Maps commands to functions of the test."""

    write: Callable[[Key, Action], None] = nothing
    read: Callable[[Key, Resource], None] = nothing
    relist: Callable[[WatchedResource, int], None] = nothing


@dataclass
class Leads:
    """`late_writes`: writes of the previous leader may still arrive."""

    leads: Callable[[], bool] = lambda: True
    late_writes: bool = False
    terms: Callable[[], int] = lambda: 0

    def held(self) -> bool:
        return self.leads()

    def late_writes_possible(self) -> bool:
        return self.late_writes

    def term(self) -> int:
        return self.terms()


class CheckedCore(Core):
    """Fails after the event that breaks an invariant, or where a second request about an object is sent meanwhile.

    Moments that pass one after the other and lead to nothing are looked at once.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._unanswered: set[Key] = set()
        self._uids: dict[Key, set[str]] = {}
        self._idle = 0

    def handle(self, events: Any, now: int) -> list[Command]:
        given: list[Event] = [*events]
        for event in given:
            if isinstance(event, Written | Failed | ObjectRead):
                self._unanswered.discard(event.key)
            if isinstance(event, Written | ObjectRead) and event.key[0] in self.informer.watched:
                self._see(self.informer.watched[event.key[0]].observed(event.manifest))
            for observed in event.objects if isinstance(event, Listed) else (event,):
                if isinstance(observed, Observed):
                    self._see(observed)
        commands = super().handle(given, now)
        for command in commands:
            self._sent(command)
        idle = not commands and all(isinstance(event, TimePassed | Continue) for event in given)
        self._idle = self._idle + 1 if idle else 0
        if self._idle < 2:
            broken = violations(self, now)
            assert not broken, f"after {given}: {broken}"
        return commands

    def _sent(self, command: Command) -> None:
        if isinstance(command, WriteCommand) and command.key[0] == EVENT:
            assert self._is_found(command.action), f"kubectl describe does not find {command.action}"
        if not isinstance(command, WriteCommand | ReadObject) or command.key[0] == EVENT:
            return
        assert command.key not in self._unanswered, f"{command.key}: a second request is sent before the answer"
        self._unanswered.add(command.key)
        record = self.state.records.find(command.key)
        assert record is not None
        assert record.in_flight is not None
        assert record.in_flight.request == command

    def _is_found(self, event: Action) -> bool:
        """Whether the Event names its object as kubectl describe looks for it; where uids were seen, by one of them."""
        assert isinstance(event, Create)
        about = event.body["involvedObject"]
        name = "/".join(filter(None, (about.get("namespace"), about["name"])))
        known = self._uids.get((about["kind"], name), {about["uid"]})
        return bool(about["apiVersion"] and about["uid"]) and about["uid"] in known

    def _see(self, observed: Observed) -> None:
        uid = getattr(observed.value, "uid", "") or getattr(observed.detail, "uid", "")
        if uid:
            self._uids.setdefault(observed.key, set()).add(uid)


def loop(
    asks: Asks | None = None,
    controllers: Sequence[MakeController] = (),
    permit: Leads | None = None,
    *,
    clock: Callable[[], int],
    state: ClusterState | None = None,
    exclusive: bool = True,
    observability: Observability = LEGACY,
    waiting: WaitForPodsReady | None = None,
    spans: SpanRecorder | None = None,
) -> Loop:
    """`exclusive`: nobody else ever writes. `waiting`: how long pods may take to be ready. `spans` None: no traces."""
    state = state or ClusterState()
    observer = SpanObserver(spans, lambda: True, clock) if spans is not None else Observer()
    core = CheckedCore(
        state,
        [make(state) for make in controllers],
        observer,
        waiting=waiting,
        exclusive=exclusive,
        observability=observability,
    )
    traced = WriteSpans(state.records, spans, clock) if spans is not None else None
    return Loop(core, asks or Asks(), permit or Leads(), observer=observer, spans=traced, clock=clock)
