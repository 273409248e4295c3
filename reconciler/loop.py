"""The loop: what was seen goes into the world, the world is decided on, and what is decided is written.

One thread owns the world. Each round starts from the state as it is; nothing is remembered that the API server does not
hold, but for writes that are under way. After a crash at any line the next round reads the same world and goes on.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cluster.actions import Action
from reconciler.alarms import Alarms
from reconciler.call import Call
from reconciler.feed import FOLLOWED, Followed, Key, Listed, Seen, Surroundings, by_kind, ignore
from reconciler.job_side import JobSide
from reconciler.known import Known
from reconciler.managed_jobs import ManagedJobs, Selection
from reconciler.neighbourhood import concerned, lifecycle_of
from reconciler.pace import Pace
from reconciler.retries import Retries
from reconciler.side import MakeSide, Side
from reconciler.status_side import StatusSide
from reconciler.succession import Succession
from reconciler.teller import Teller
from reconciler.under_way import EVENT, WORKLOAD, UnderWay
from reconciler.witness import Nobody, Witness
from reconciler.writer import Failed, Outcome, Read, Round, Written
from scheduling.cycle.engine import Engine
from scheduling.cycle.outcome import reserved, waiting
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import next_moment
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

log = logging.getLogger(__name__)

_BUSY = 16
"""Writes that are under way: with so many, each of the writer's threads has something to do, and something to come."""
_CYCLES = 100  # in one round; then the inbox is looked at again
Message: TypeAlias = Seen | Listed | Outcome | Call


@dataclass
class Loop:
    """`write` carries an action out and tells the inbox. `may_write`: see cluster.lease. `relist` has all objects of a
    kind read anew, None where nobody else ever writes. `inherits`: see `Succession`.

    `sides` look after what is not a Workload. `waiting`: how long pods are waited for, None for ever. `managed`: which
    jobs. `with_statuses`: queues show what they hold, Events what happens. `clock` gives the moment in nanoseconds.
    """

    world: World
    write: Callable[[Key, Action], None]
    read: Callable[[Key, str], None]
    may_write: Callable[[], bool]
    relist: Callable[[Followed, int], None] | None = None
    sides: Sequence[MakeSide] = (JobSide,)
    waiting: WaitForPodsReady | None = None
    managed: ManagedJobs = field(default_factory=ManagedJobs)
    with_statuses: bool = True
    clock: Callable[[], int] = time.time_ns
    inbox: queue.SimpleQueue[Message] = field(default_factory=queue.SimpleQueue)
    stats: Round = field(default_factory=Round)
    witness: Witness = field(default_factory=Nobody)
    inherits: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self.engine = Engine(self.world, block_admission=self.waiting is not None and self.waiting.block_admission)
        self.known = Known()
        self.beside: list[Side] = [make(self._stored) for make in self.sides]
        self.shown = {each.kind: [side for side in self.beside if each in side.followed] for each in self._all()}
        self.followed: dict[str, Followed] = {**by_kind(self._all()), **by_kind()}
        self.teller = Teller()
        self.statuses = StatusSide(self.world, self.known.aside, self.teller)
        self.dirty: dict[str, None] = {}
        self.reasons: dict[str, Wait] = {}
        self.alarms = Alarms()
        self.surroundings = Surroundings()
        self.renewing = True
        self.selected = Selection(self.managed, self.world)
        self.retries = Retries(self.clock)
        self.pace = Pace()
        self.unfinished = False
        self.under_way = self._under_way()
        self.succession = Succession(
            self.world, self._read_anew if self.relist else None, self.inherits, self._stored, self.under_way.fly
        )

    def _under_way(self) -> UnderWay:
        return UnderWay(
            self.write,
            self.read,
            self._keep,
            self._see,
            self._over,
            self.known,
            self.followed,
            self.alarms,
            self.retries,
            self.statuses,
            self.stats,
            self.teller,
            self._now,
        )

    def _all(self) -> tuple[Followed, ...]:
        return *FOLLOWED, *(each for side in self.beside for each in side.followed)

    def _stored(self, name: str) -> Seen | None:
        return self.known.get((WORKLOAD, name))

    def round(self, patience: float = 0.5) -> None:
        """Wait up to `patience` seconds for something to be seen, take in all there is, and act on it."""
        self.pace.listen(self.inbox, self._take, self._patience(patience), patience)
        self.succession.lead(self.may_write())
        self._ring()
        with self.pace:
            if self._may_act():
                self.retries.again()
                if self.succession.over(self.under_way.flying.keys()):
                    self._act(self._now())
        self.witness.passed(self._now(), self.pace.took)

    def _read_anew(self) -> None:
        for each in filter(lambda followed: followed.anew, self.followed.values()):
            (self.relist or ignore)(each, self.known.ask(each.kind))

    def _may_act(self) -> bool:
        return self.complete and self.may_write() and not self.retries.paused

    @property
    def complete(self) -> bool:
        """Whether every kind was listed: before that nothing may be concluded."""
        return self.known.listed >= self.followed.keys()

    def _now(self) -> int:
        """The moment in whole seconds, since that is what conditions hold."""
        return self.clock() // SECOND * SECOND

    def _patience(self, most: float) -> float:
        """Until there is something to do: an alarm, cycles that are left over, or the end of a pause."""
        if self.retries.paused:
            return min(most, (self.retries.paused_until - self.clock()) / SECOND)
        if not self._may_act():
            return most
        if self.unfinished:
            return 0.0
        alarm = self.alarms.next
        return most if alarm is None else max(0.0, min(most, (alarm - self.clock()) / SECOND))

    # --- what is seen

    def _take(self, message: Message) -> None:
        match message:
            case Seen():
                self.known.advance(message.key[0], message.version)
                self._see(message)
            case Listed():
                for seen in self.known.replaced(message):
                    self._see(seen)
            case Written():
                self.under_way.written(message)
            case Read():
                self.under_way.answered(self.followed[message.key[0]].seen(message.manifest, self.known.get))
            case Failed():
                self.under_way.failed(message)
            case Call():
                message.run()

    def _see(self, seen: Seen) -> None:
        """Take an object in, unless a newer one is known."""
        if self._keep(seen):
            self._take_in(seen)

    def _keep(self, seen: Seen) -> bool:
        """Whether it is the newest that is known by now; what is new about it is told."""
        before = self.known.get(seen.key)
        if not self.known.take(seen):
            return False
        if before is None or before.version != seen.version:
            self.witness.changing(before, seen, self._now())
            self.retries.forget(seen.key)
            if seen.key[0] == WORKLOAD and before is not None and seen.value is not None and self.succession.led:
                self.teller.changed(before.value, seen.value, self._now())
        return True

    def _take_in(self, seen: Seen) -> None:
        kind, name = seen.key
        if kind == WORKLOAD:
            self._enter(name)
        elif kind in Surroundings.KINDS:
            self.renewing |= self.surroundings.put(self.world, seen, self._now())
        else:
            self._change(self.followed[kind], seen)
            self.statuses.touch(seen.key)
        for side in self.shown[kind]:
            side.see(seen)
        self.witness.changed(self._now())

    def _over(self, key: Key) -> None:
        """The write that was under way is over; the world goes by the stored object again."""
        if key[0] == WORKLOAD:
            self._enter(key[1])

    def _renew_jobs(self) -> None:
        """What jobs are started and prioritized by has changed: once for all that did."""
        if not self.renewing:
            return
        self.renewing = False
        around = self.selected.around(self.surroundings.classes(), pods_ready=self.waiting is not None)
        for side in self.beside:
            side.renew(around)

    def _change(self, followed: Followed, seen: Seen) -> None:
        before = self.world.state.flavors.get(seen.key[1])
        if seen.value is None:
            followed.drop(self.world, seen.key[1], self._now())
        else:
            followed.put(self.world, seen.value, self._now())
        self.renewing |= self.selected.outdated(seen.key[1]) or before != self.world.state.flavors.get(seen.key[1])
        for workload in concerned(self.world, *seen.key):
            self.dirty[workload.key] = None

    def _enter(self, name: str) -> None:
        """The world goes by the stored object, but while a write of ours is under way by what that will make of it."""
        self.dirty[name] = None
        for side in self.beside:
            side.touch(name)
        if name in self.under_way.sent:
            return
        self.under_way.wanted.pop(name, None)
        seen = self._stored(name)
        if seen is None:
            self.dirty.pop(name)
            self.world.drop_workload(name)
            return
        workload: Workload = seen.value
        self.world.put_workload(workload, self._now())
        if self.retries.resting((WORKLOAD, name)):
            self.world.queues.drop(name)
        if alarm := next_moment(workload, self.waiting):
            self.alarms.set(alarm, (WORKLOAD, name))

    # --- what is decided

    def _act(self, now: int) -> None:
        names, self.dirty = self.dirty, {}
        for name in names:
            self._step(name, now)
        self._turn(now)
        self.unfinished = True
        for _ in range(_CYCLES):
            began = time.perf_counter()
            decisions = self.engine.step(now)
            if not decisions:
                self.unfinished = False
                break
            self.stats.cycles += 1
            self.witness.decided(decisions, time.perf_counter() - began)
            for decision in decisions:
                self._carry_out(decision, now)
        self._explain(now)
        if self.with_statuses:
            self._tell(now)

    def _tell(self, now: int) -> None:
        for key, patch in self.statuses.due(self.under_way.busy, now):
            self.under_way.fly(key, patch)
        for event in self.teller.due(now):
            self.write((EVENT, event.name), event)

    def _ring(self) -> None:
        """Those whose time has come: for a step, or after a rest for their queue. Also while others write."""
        for kind, name in self.alarms.due(self.clock()):
            seen = self._stored(name) if kind == WORKLOAD else None
            if seen is not None:
                self.dirty[name] = None
                if name not in self.under_way.sent and not self.retries.resting((kind, name)):
                    self.world.put_workload(seen.value, self._now())

    def _step(self, name: str, now: int) -> None:
        """What the workload's own surroundings ask for."""
        workload = self.world.workloads.get(name)
        if workload is None or self.under_way.busy(WORKLOAD, name):
            return
        after = lifecycle_of(self.world, workload, now, self.waiting).next(workload)
        if after != workload:
            self.world.put_workload(after, now)
            self.under_way.submit(after)

    def _turn(self, now: int) -> None:
        """What each side asks for."""
        self._renew_jobs()
        for side in self.beside:
            for turn in side.due(self.under_way.busy, now):
                if turn.action is None:
                    self.teller.turned(turn, now)
                else:
                    self.under_way.fly(turn.key, turn.action, turn)

    def _carry_out(self, decision: Decision, now: int) -> None:
        world = self.world
        if isinstance(decision, Reserve):
            self.reasons.pop(decision.workload.key, None)
            queue = world.state.queues[decision.queue].settings
            given = reserved(world.workloads[decision.workload.key], decision, queue, now)
            world.put_workload(given, now)
            self.under_way.submit(given)
        elif isinstance(decision, Preempt):
            self.teller.preempted(decision, now)
            self.under_way.submit(world.workloads[decision.target.key])
        else:
            self.reasons[decision.workload.key] = decision

    def _explain(self, now: int) -> None:
        """Why workloads wait is written when nothing else is: quota goes first, and many that wait have it soon."""
        while self.reasons and self.under_way.count < _BUSY:
            name = next(iter(self.reasons))
            decision, before = self.reasons.pop(name), self.world.workloads.get(name)
            if before is None or before.reserved or before.finished or not before.active:
                continue
            after = waiting(before, decision, now, self.world.counting)
            if after != before:
                self.world.put_workload(after, now)
                self.under_way.submit(after)
