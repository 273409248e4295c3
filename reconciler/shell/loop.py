"""The thread that owns the core. It passes messages from the inbox to the core, and commands to the executors."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from cluster.errors import SetBack
from reconciler.core.commands import Command, FollowResource, ReadObject, Relist, WriteCommand
from reconciler.core.core import Core
from reconciler.core.events import Continue, Event, LeadershipGained, LeadershipLost, TimePassed
from reconciler.objects.moments import whole_second
from reconciler.objects.outcomes import Written
from reconciler.objects.watched import WatchedResource
from reconciler.objects.workers import (
    DropWorker,
    FollowWorker,
    RenewWorker,
    WorkerCommand,
    WorkerCondition,
    WorkerWrite,
)
from reconciler.observer.observer import NullObserver, Observer
from reconciler.shell.call import Call
from reconciler.shell.pace import RoundPace
from reconciler.shell.permit import LeasePermit
from reconciler.shell.write_spans import WriteSpans
from reconciler.shell.writer import Writer
from scheduling.objects.times import SECOND

Message: TypeAlias = Event | Call | SetBack
_TOLERATED = 60 * SECOND
"""Nanoseconds by which the clock may be set back. Pauses and backoffs then last that much longer."""


class ClockSetBack(Exception):
    """The clock was set back, so pauses, backoffs and deadlines would last that much longer."""


def _nobody(_: WatchedResource) -> None:
    return None


@dataclass
class Loop:
    """The loop.

    `core`: the state machine, which only the thread of the loop may use.
    `executor`: executes the core's commands.
    `permit`: says whether this process may write.
    `follow`: begins to list and watch a resource.
    `workers`: executes commands for worker clusters; None if there are no workers.
    `spans`: records spans of writes; None if writes are not traced.
    `clock`: returns the present time in nanoseconds.
    """

    core: Core
    executor: Writer
    permit: LeasePermit
    follow: Callable[[WatchedResource], None] = _nobody
    workers: Callable[[WorkerCommand], None] | None = None
    observer: Observer = field(default_factory=NullObserver)
    spans: WriteSpans | None = None
    inbox: queue.SimpleQueue[Message] = field(default_factory=queue.SimpleQueue)
    clock: Callable[[], int] = time.time_ns
    _pace: RoundPace = field(default_factory=RoundPace)
    _term: int | None = None
    _answered: bool = False
    _latest: int = 0

    def round(self, patience: float = 0.5) -> None:
        """Wait up to `patience` seconds for a message, pass on all that have arrived, and run a turn of the core.

        Raises ClockSetBack, and SetBack if the API server was set back.
        """
        self._pace.listen(
            self.inbox, self._take, self.patience(patience), lambda: 0.0 if self._last_due() else patience
        )
        now = self.clock()
        self._latest = max(now, self._latest)
        if self._latest - now > _TOLERATED:
            raise ClockSetBack(f"the clock was set back by {(self._latest - now) // SECOND} s")
        self._report_leadership(now)
        with self._pace:
            self._handle(TimePassed(), now)
            while self.core.in_turn:
                self._handle(Continue(), now)
        self.observer.passed(whole_second(now), self._pace.took)

    def patience(self, most: float) -> float:
        """The seconds until the core has something to do without a message, at most `most`."""
        now = self.clock()
        due = self.core.due_at(now)
        return most if due is None else max(0.0, min(most, (due - now) / SECOND))

    def _last_due(self) -> bool:
        """Whether the last message was the response to a write, and no other response is due."""
        return self._answered and not self.core.expects_answers

    def _take(self, message: Message) -> None:
        self._answered = isinstance(message, Written)
        if isinstance(message, SetBack):
            raise message  # what this process knows is not valid any more, and all that it reads seems to be old
        if isinstance(message, Call):
            message.run()
        else:
            if self.spans is not None:
                self.spans.answered(message)
            self._handle(message, self.clock())

    def _report_leadership(self, now: int) -> None:
        """Report changes of leadership. If the Lease was lost and gained again within a round, report both changes:
        another process may have written in between.
        """
        leads = self.permit.held()
        term = self.permit.term()  # read after `held`: if the Lease was lost and is held again, it has grown by now
        if self.core.leads and not (leads and term == self._term):
            self._handle(LeadershipLost(), now)
        if leads and not self.core.leads:
            resumed, self._term = term == self._term, term
            self._handle(LeadershipGained(self.permit.late_writes_possible(), resumed), now)

    def _handle(self, event: Event, now: int) -> None:
        for command in self.core.handle((event,), now):
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        if self.spans is not None and isinstance(command, WriteCommand | WorkerWrite):
            self.spans.sent(command.key, command.action, command.cluster if isinstance(command, WorkerWrite) else "")
        match command:
            case WorkerWrite() | FollowWorker() | WorkerCondition() | RenewWorker() | DropWorker():
                if self.workers is not None:
                    self.workers(command)
            case WriteCommand():
                self.executor.write(command.key, command.action)
            case ReadObject():
                self.executor.read(command.key, self.core.informer.watched[command.key[0]].resource)
            case Relist():
                self.executor.relist(command.watched, command.request)
            case FollowResource():
                self.follow(command.watched)
