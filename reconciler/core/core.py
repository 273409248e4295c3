"""The reconciler's core: a state machine that turns events into commands. It has no thread, no queue and no clock.

A turn is one pass over everything that is due: the next steps of Workloads, scheduling cycles, and the writes of
controllers.

All state except in-flight writes is rebuilt from the API server. After a crash at any point the next process reads the
same state and continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reconciler.core.commands import REPORTS, Command, FollowResource, ReadObject, Relist
from reconciler.core.controller import Controller, WaitFor, WakeAt
from reconciler.core.decider import Decider
from reconciler.core.events import Continue, Event, LeadershipGained, LeadershipLost, TimePassed
from reconciler.core.informer import Informer
from reconciler.core.leader_fencing import LeaderFencing
from reconciler.core.records import WORKLOAD
from reconciler.core.state import ClusterState
from reconciler.core.writes import PendingWrites, Stats
from reconciler.managed_jobs import ManagedJobs
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Listed, Observed
from reconciler.objects.outcomes import Failed, ObjectRead, Written
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.workers import FromWorker
from reconciler.observer.observer import Observer
from reconciler.recorder.recorder import EventRecorder
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.observability import LEGACY, Observability

_NOBODY = Observer()
_ALL = ManagedJobs()
_BATCH = 8
"""Controller writes per batch. Writes are sent in batches, so that the first does not wait until all are computed."""


class Core:
    """The state machine. Times are in nanoseconds.

    `state`: the objects and the model of the cluster, which controllers read.
    `waiting`: how long pods may take to become ready; None for no limit.
    `managed`: which jobs are managed.
    `observability`: which reasons for waiting Workloads show.
    `exclusive`: whether this is the only process that ever writes, so that no fencing is needed.
    `kueue`: whether Kueue's kinds are watched.
    `in_turn`: whether a turn has begun and is not finished; the event Continue resumes it.
    """

    def __init__(
        self,
        state: ClusterState,
        controllers: Sequence[Controller] = (),
        observer: Observer = _NOBODY,
        waiting: WaitForPodsReady | None = None,
        managed: ManagedJobs = _ALL,
        observability: Observability = LEGACY,
        *,
        exclusive: bool = False,
        kueue: bool = True,
    ) -> None:
        world, records = state.world, state.records
        self.state = state
        self.controllers = controllers
        self.stats = Stats()
        self.leads = False
        self.in_turn = False
        self._turn: Iterator[None] = iter(())
        self._exclusive = exclusive
        self._commanding = [each for each in controllers if type(each).commands is not Controller.commands]
        self._commands: list[Command] = []
        self._recorder = EventRecorder()
        self.informer = Informer(
            world,
            records,
            controllers,
            observer,
            self._recorder,
            waiting,
            managed,
            observability,
            state.partition,
            kueue=kueue,
        )
        self.writes = PendingWrites(self.informer, self._recorder, self._commands, self.stats)
        self.fencing = LeaderFencing(world, records, self.writes, state.partition, controllers)
        completing = [each for each in controllers if type(each).completed is not Controller.completed]
        self.decider = Decider(
            self.informer, self.writes, observer, self._recorder, waiting, observability, self.stats, completing
        )

    def handle(self, events: Iterable[Event], now: int) -> list[Command]:
        """Process the events and return the commands to execute. Decisions are made on TimePassed."""
        for event in events:
            self._process(event, now)
            self._commands += map(FollowResource, self.informer.newly_needed())
        for controller in self._commanding:
            self._commands += controller.commands()
        commands = [*self._commands]
        self._commands.clear()
        return commands

    def _process(self, event: Event, now: int) -> None:
        if not isinstance(event, Continue):
            self._end_turn()
        match event:
            case Continue():
                next(self._turn, None)
            case Observed():
                self.informer.observe(event, now)
            case Listed():
                self._process_list(event, now)
            case Written():
                self.writes.written(event, now)
            case ObjectRead():
                views = self.informer.views(event.key, event.manifest)
                for observed in views:
                    self.informer.found(observed)
                self.writes.answered(event.key, views, now)
            case Failed():
                self.writes.failed(event, now)
            case FromWorker():
                for controller in self.controllers:
                    controller.from_worker(event, now)
            case LeadershipGained():
                self._lead(event)
            case LeadershipLost():
                self.leads = self.informer.records_events = False
            case TimePassed():
                self._begin_turn(now)

    def _lead(self, event: LeadershipGained) -> None:
        """Begin to lead.

        The watch may not have delivered the previous leader's last writes yet, so all objects are listed again. If this
        process itself was the previous leader, that is not necessary. Then nothing is listed, because the API server
        may have been too busy to renew the Lease.
        """
        self.leads = self.informer.records_events = True
        if event.resumed:
            return
        self.state.partition.lead()
        if self._exclusive:
            return
        for controller in self.controllers:
            controller.lead()
        self.decider.unfinished = False
        self.writes.doubt_decisions()
        self.fencing.begin(event.late_writes)
        progress = self.state.records.progress
        for resource in self.informer.resources:
            if resource.relist:
                request = progress.ask(resource.kinds)
                if progress.known(resource.kinds):
                    self._commands.append(Relist(resource, request))

    def _process_list(self, listed: Listed, now: int) -> None:
        """Process a list.

        If the list began before this process became the leader, it may be stale, and another one is requested.
        """
        progress, resource = self.state.records.progress, self.informer.resource_of[listed.kind]
        first = not progress.known(resource.kinds)
        self.informer.replace(listed, now)
        if first and progress.known(resource.kinds) and (request := progress.awaited(listed.kind)):
            self._commands.append(Relist(resource, request))
        if listed.kind == WORKLOAD:
            self.state.partition.listed(listed.request)

    def _begin_turn(self, now: int) -> None:
        self.informer.ring(now)
        if self.may_act(now):
            self.writes.send_again(now)
            may_decide = self.fencing.proceed()
            self._take_over_trees()
            if may_decide:
                self._turn = self._run_turn(now)
                self.in_turn = True

    def _take_over_trees(self) -> None:
        """Take over the trees that this part gained, and wake what waits for objects that other parts released."""
        partition = self.state.partition
        changed = partition.refresh()
        for name in changed.gained:
            self.state.world.queues.wake(name)
            self.state.world.touched.queue(name)
        self.informer.free(changed.freed)
        self.informer.stale.update({name: None for kind, name in changed.freed if kind == WORKLOAD})
        if number := partition.ask_for_list():
            self._commands.append(Relist(self.informer.resource_of[WORKLOAD], number))

    def _end_turn(self) -> None:
        for _ in self._turn:
            pass

    def _run_turn(self, now: int) -> Iterator[None]:
        """One turn. It yields where commands have to be executed before the turn continues."""
        self.decider.steps(now)
        self.informer.renew_inputs()
        yield from self._reconcile(now, after_decisions=False)
        yield from self.decider.cycles(now)
        self._report_first()
        self.decider.postponed_steps(now)
        self.decider.explain(now)
        yield from self._reconcile(now, after_decisions=True)
        for event in self._recorder.due(now, calm=self.state.records.calm):
            self.writes.emit(event)
        self.in_turn = False

    def _reconcile(self, now: int, *, after_decisions: bool) -> Iterator[None]:
        def busy(kind: str, name: str) -> bool:
            return self.informer.busy(kind, name, now)

        for controller in self.controllers:
            if controller.after_decisions is not after_decisions:
                continue
            for wanted in controller.reconcile(busy, now):
                match wanted:
                    case WantedWrite(action=None, key=key):
                        if not self.state.partition.away(*key):
                            self._recorder.wanted(wanted, whole_second(now), self.writes.concerned(wanted))
                    case WantedWrite(first_report=True, key=(_, name)):
                        self.decider.first_reports[name] = wanted, controller
                    case WantedWrite():
                        self.writes.start(wanted, controller)
                    case ReadObject(key=key):
                        self.writes.ask(key)
                    case WaitFor() | WakeAt():
                        self.informer.wait(controller, wanted, now)
                    case _:
                        self._commands.append(wanted)
                if len(self._commands) >= _BATCH:
                    yield

    def _report_first(self) -> None:
        """Write the first PodsReady conditions that no quota reservation of this turn included."""
        for wanted, controller in self.decider.first_reports.values():
            self.writes.start(wanted, controller)
        self.decider.first_reports.clear()

    # --- used by the shell

    @property
    def in_flight(self) -> int:
        return len(self.state.records.in_flight)

    @property
    def expects_answers(self) -> bool:
        """Whether a response is due that may lead to a decision. Always true while many requests are in flight."""
        return not self.state.records.calm or any(kind not in REPORTS for kind, _ in self.state.records.in_flight)

    def paused(self, now: int) -> bool:
        """Whether requests are paused because the API server fails."""
        return self.writes.retries.paused(now)

    def may_act(self, now: int) -> bool:
        return self.state.complete and self.leads and not self.paused(now)

    def due_at(self, now: int) -> int | None:
        """The time at which the core has something to do even without an event; None if there is nothing."""
        if self.paused(now):
            return self.writes.retries.paused_until
        if not self.may_act(now):
            return None
        if self.decider.unfinished:
            return now
        moments = (self.informer.alarms.next, self.informer.waits.next)
        return min((moment for moment in moments if moment is not None), default=None)
