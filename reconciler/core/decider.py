"""The decisions: first the next step of each Workload, then quota and preemptions in scheduling cycles."""

from __future__ import annotations

import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from reconciler.core.controller import Controller
from reconciler.core.informer import Informer
from reconciler.core.lifecycles import lifecycle_of, successor_of
from reconciler.core.records import WORKLOAD
from reconciler.core.writes import PendingWrites, Stats
from reconciler.objects.moments import whole_second
from reconciler.objects.wanted import WantedWrite
from reconciler.observer.observer import Observer
from reconciler.recorder.recorder import EventRecorder
from reconciler.recorder.workload_events import details
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.outcome import reserved, waiting
from scheduling.cycle.second_pass import NotPlaced, after_second_pass, needs_second_pass, second_pass
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.placement.first import with_moment
from scheduling.status.deadlines import WaitForPodsReady, pods_ready
from scheduling.status.observability import Observability
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait

_CYCLES = 100
"""The most cycles in one turn. After them the messages that have arrived meanwhile are processed."""
_FIRST_DELAY, _LONGEST_DELAY = SECOND, 30 * SECOND
"""The delay before the first attempt, and the longest delay between two attempts. Each is twice the one before."""


class Decider:
    """Decides on the steps of Workloads, on quota and on preemptions.

    `unfinished`: whether cycles are left over for the next turn.
    `reasons`: the reasons for waiting that are to be written, by Workload.
    `completing`: controllers that add fields to the write of a quota reservation.
    `first_reports`: the writes of PodsReady that are due, by Workload. If quota is reserved in the same turn, the write
        of the reservation has the condition, and no separate write is needed.
    """

    def __init__(
        self,
        informer: Informer,
        writes: PendingWrites,
        observer: Observer,
        recorder: EventRecorder,
        waiting: WaitForPodsReady | None,
        observability: Observability,
        stats: Stats,
        completing: Sequence[Controller] = (),
    ) -> None:
        self.unfinished = False
        self.reasons: dict[str, Wait] = {}
        self.first_reports: dict[str, tuple[WantedWrite, Controller]] = {}
        self._informer = informer
        self._world = informer.world
        self._records = informer.records
        self._writes = writes
        self._observer = observer
        self._recorder = recorder
        self._waiting = waiting
        self._observability = observability
        self._stats = stats
        self._completing = completing
        self._postponed: dict[str, None] = {}
        self._second_passes = SecondPasses()
        self._engine = AdmissionEngine(self._world, block_admission=waiting is not None and waiting.block_admission)

    def steps(self, now: int) -> None:
        """Take the next step of each Workload that a change may concern. A busy Workload waits until it is free."""
        names = self._informer.stale | self._world.recounted
        self._informer.stale, self._world.recounted = {}, {}
        self._second_passes.forget_gone(self._world.workloads)
        for name in names:
            self._step(name, now, before_cycles=True)

    def postponed_steps(self, now: int) -> None:
        """Take the steps that were put off because the write of a quota reservation might have included them."""
        if self.unfinished:
            return
        names, self._postponed = self._postponed, {}
        for name in names:
            self._step(name, now)

    def _step(self, name: str, now: int, *, before_cycles: bool = False) -> None:
        workload = self._world.workloads.get(name)
        if workload is None or self._records.current(name) is None or self._informer.busy(WORKLOAD, name, now):
            return
        if (owed := self._records.owed(name)) is not None:
            self.reasons.setdefault(name, owed)
        moment = whole_second(now)
        successor = successor_of(self._world, self._records, workload)
        around = lifecycle_of(self._world, workload, moment, self._waiting, self._observability, successor)
        after = around.next(workload)
        if before_cycles and _only_adds_checks(workload, after):
            self._postponed[name] = None
        elif workload.counts and not after.counts:
            self._writes.give_back(after)
        elif after != workload:
            self._world.put_workload(after, moment)
            self._writes.decide(after, now)
        elif self._world.state.fleet is not None:
            self._place(workload, now)

    def _place(self, workload: Workload, now: int) -> None:
        """Assign places to pods of a workload that has quota: after a delayed assignment, or after a node failed."""
        key = workload.key
        if not needs_second_pass(workload):
            self._second_passes.end(key)
            return
        due = self._second_passes.due_at(key, now)
        if now < due:
            self._informer.alarms.set(due, (WORKLOAD, key))
            return
        result = second_pass(self._world, workload)
        if result is None:
            self._second_passes.end(key)
            return
        moment, by_prefix = whole_second(now), self._world.state.options.encode_by_prefix
        after = after_second_pass(result, moment, self._observability, by_prefix=by_prefix)
        if after == workload:
            assert isinstance(result, NotPlaced)
            self._recorder.not_placed(workload, result.message, moment)
            self._informer.alarms.set(self._second_passes.failed(key, now), (WORKLOAD, key))
        else:
            self._second_passes.end(key)
            self._world.put_workload(after, moment)
            self._writes.decide(after, now)

    def cycles(self, now: int) -> Iterator[None]:
        """Run cycles until no decision is left, or the limit of a turn is reached."""
        moment = whole_second(now)
        self.unfinished = True
        for _ in range(_CYCLES):
            began = time.perf_counter()
            decisions = self._engine.step(moment)
            if not decisions:
                self.unfinished = False
                return
            self._stats.cycles += 1
            self._observer.decided(decisions, time.perf_counter() - began)
            for decision in decisions:
                self._carry_out(decision, now)
            yield

    def _carry_out(self, decision: Decision, now: int) -> None:
        world, moment = self._world, whole_second(now)
        if isinstance(decision, Reserve):
            self.reasons.pop(decision.workload.key, None)
            queue = world.state.queues[decision.queue].settings
            before, by_prefix = world.workloads[decision.workload.key], world.state.options.encode_by_prefix
            after = reserved(before, decision, queue, moment, self._observability, by_prefix=by_prefix)
            if after.origin:
                after = with_moment(after, now)
            if after.key in self.first_reports:
                after = pods_ready(after, False, moment)
            for controller in self._completing:
                after = controller.completed(after, moment)
            world.put_workload(after, moment)
            self._writes.decide(after, now, details(decision))
        elif isinstance(decision, Preempt):
            self._recorder.preempted(decision, moment)
            self._writes.decide(world.workloads[decision.target.key], now, details(decision))
        else:
            self.reasons[decision.workload.key] = decision
            if self._observability.granular and decision.inadmissible:
                alike = world.queues.pending[decision.queue].alike(decision.workload.key)
                self._informer.stale.update(dict.fromkeys(alike))

    def explain(self, now: int) -> None:
        """Write the reasons for waiting while few other writes are in flight.

        Writes of quota have precedence. Many Workloads get quota soon, and then need no reason.
        """
        while self.reasons and self._records.calm:
            name = next(iter(self.reasons))
            self._report(name, self.reasons.pop(name), now)

    def _report(self, name: str, decision: Wait, now: int) -> None:
        """Write why a Workload waits.

        The reason is remembered until the stored object shows it, because another write may come first, and a write may
        fail.
        """
        before = self._world.workloads.get(name)
        again = self._records.owed(name) is decision
        self._records.owe(name, None)
        if before is None or self._records.current(name) is None:
            return
        if not before.queueable or self._world.queues.queue_of(before) != decision.queue:
            return
        if self._informer.partition.away(WORKLOAD, name):
            return  # the part that now decides for the Workload writes the reason
        if not self._world.can_admit(decision.queue).active:
            return  # the step of the Workload writes that its queue is inactive
        after = waiting(before, decision, whole_second(now), self._world.counting, self._observability)
        if after == before or (again and after.conditions == before.conditions):
            return  # only fields differ that the API server did not store at the last attempt
        self._records.owe(name, decision)
        if not self._records.busy((WORKLOAD, name), now):
            self._world.put_workload(after, whole_second(now))
            self._writes.decide(after, now)


def _only_adds_checks(before: Workload, after: Workload) -> bool:
    """Whether the step of a waiting Workload only adds checks. The write of its quota reservation adds them anyway."""
    more = len(after.checks) > len(before.checks) and before.queueable
    return more and after == replace(before, checks=after.checks)


@dataclass(slots=True)
class _SecondPass:
    at: int
    last: int


class SecondPasses:
    """The next attempt to assign places to each workload with quota that needs one. Times are in nanoseconds.

    Attempts are not stored, so a new process begins with the first one.
    Source: Kueue v0.19, pkg/cache/queue, the second pass queue.
    """

    def __init__(self) -> None:
        self._waits: dict[str, _SecondPass] = {}

    def due_at(self, name: str, now: int) -> int:
        """The time of the next attempt. The first call for a workload begins its delay."""
        return self._waits.setdefault(name, _SecondPass(now + _FIRST_DELAY, _FIRST_DELAY)).at

    def failed(self, name: str, now: int) -> int:
        """An attempt found no places. Returns the time of the next one."""
        wait = self._waits[name]
        wait.last = min(2 * wait.last, _LONGEST_DELAY)
        wait.at = now + wait.last
        return wait.at

    def end(self, name: str) -> None:
        self._waits.pop(name, None)

    def forget_gone(self, workloads: Container[str]) -> None:
        for name in [each for each in self._waits if each not in workloads]:
            del self._waits[name]
