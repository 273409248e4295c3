"""The loop: what was seen goes into the world, the world is decided on, and what is decided is written.

One thread owns the world. Each round starts from the state as it is; nothing is remembered that the API server does not
hold, but for writes that are under way. After a crash at any line the next round reads the same world and goes on.
"""

from __future__ import annotations

import heapq
import logging
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from cluster.actions import Action
from cluster.client import Cluster
from cluster.errors import Conflict, NotFound
from cluster.retry import Backoff
from reconciler.feed import Followed, Key, Listed, Seen, Surroundings, by_kind
from reconciler.patches import ADMISSION_MANAGER, WORKLOADS, spec_patch, status_patch
from reconciler.writer import Failed, Outcome, Read, Writer, Written
from scheduling.decisions import Decision, Preempt, Reserve
from scheduling.engine import Engine
from scheduling.outcome import reserved, waiting
from scheduling.reading import read_workload
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.lifecycle import Lifecycle, next_moment
from scheduling.times import SECOND
from scheduling.workload import Workload
from scheduling.world import World

log = logging.getLogger(__name__)

_CYCLES = 100
"""Cycles in one round; then the inbox is looked at again."""
WORKLOAD = "Workload"


@dataclass(slots=True)
class Round:
    """How the loop is doing, for tests and metrics."""

    cycles: int = 0
    written: int = 0
    failed: int = 0


@dataclass
class Loop:
    """`write` carries an action out and tells the inbox. `may_write`: see cluster.lease.

    `waiting`: how long pods are waited for, None for ever. `clock` gives the moment in nanoseconds.
    """

    world: World
    write: Callable[[Key, Action], None]
    read: Callable[[Key, str], None]
    may_write: Callable[[], bool]
    waiting: WaitForPodsReady | None = None
    clock: Callable[[], int] = time.time_ns
    inbox: queue.SimpleQueue[Seen | Listed | Outcome] = field(default_factory=queue.SimpleQueue)
    stats: Round = field(default_factory=Round)

    def __post_init__(self) -> None:
        self.engine = Engine(self.world)
        self.followed: dict[str, Followed] = dict(by_kind())
        self.listed: set[str] = set()
        self.stored: dict[Key, Seen] = {}
        self.sent: dict[str, Workload] = {}
        self.wanted: dict[str, Workload] = {}
        self.dirty: dict[str, None] = {}
        self.alarms: list[tuple[int, str]] = []
        self.surroundings = Surroundings()
        self.paused_until = 0
        self.backoff = Backoff(0.2, 30.0)

    # --- one round

    def round(self, patience: float = 0.5) -> None:
        """Wait up to `patience` seconds for something to be seen, take in all there is, and act on it."""
        self._drain(patience)
        if self.complete and self.may_write() and self.clock() >= self.paused_until:
            self._act(self._now())

    @property
    def complete(self) -> bool:
        """Whether every kind was listed: before that nothing may be concluded."""
        return self.listed >= self.followed.keys()

    def _now(self) -> int:
        """The moment in whole seconds, since that is what conditions hold."""
        return self.clock() // SECOND * SECOND

    def _drain(self, patience: float) -> None:
        try:
            self._take(self.inbox.get(timeout=self._patience(patience)))
            while True:
                self._take(self.inbox.get_nowait())
        except queue.Empty:
            return

    def _patience(self, most: float) -> float:
        """Until the next alarm."""
        if not self.alarms:
            return most
        return max(0.0, min(most, (self.alarms[0][0] - self.clock()) / SECOND))

    # --- what is seen

    def _take(self, message: Seen | Listed | Outcome) -> None:
        match message:
            case Seen():
                self._see(message)
            case Listed():
                self._replace(message)
            case Written():
                self._written(message)
            case Read():
                self._see(self.followed[message.key[0]].seen(message.manifest), finished=True)
            case Failed():
                self._failed(message)

    def _replace(self, listed: Listed) -> None:
        """These are all: what else there was of the kind is gone."""
        there = {seen.key for seen in listed.objects}
        for key in [key for key in self.stored if key[0] == listed.kind and key not in there]:
            self._see(Seen(key, "", None))
        for seen in listed.objects:
            self._see(seen)
        self.listed.add(listed.kind)

    def _see(self, seen: Seen, finished: bool = False) -> None:
        """Take an object in, unless a newer one is known. `finished`: the write that was under way is over."""
        kind, name = seen.key
        before = self.stored.get(seen.key)
        if seen.value is None:
            self.stored.pop(seen.key, None)
        elif before is None or not _older(seen.version, before.version):
            self.stored[seen.key] = seen
        elif not finished:
            return
        if kind == WORKLOAD:
            if finished:
                self.sent.pop(name, None)
            self._enter(name)
        elif kind in ("LimitRange", "RuntimeClass"):
            self.surroundings.put(self.world, seen, self._now())
        else:
            self._change(self.followed[kind], seen)

    def _change(self, followed: Followed, seen: Seen) -> None:
        if seen.value is None:
            followed.drop(self.world, seen.key[1], self._now())
        else:
            followed.put(self.world, seen.value, self._now())
        if followed.kind in ("ClusterQueue", "LocalQueue", "AdmissionCheck"):
            self.dirty.update(dict.fromkeys(self._concerned(seen)))

    def _concerned(self, seen: Seen) -> list[str]:
        """The workloads whose surroundings changed."""
        kind, name = seen.key
        if kind == "LocalQueue":
            return [workload.key for workload in self.world.workloads_of(name)]
        queues = self.world.queues_with_check(name) if kind == "AdmissionCheck" else [name]
        concerned: list[str] = []
        for queue_name in queues:
            held, pending = self.world.state.queues.get(queue_name), self.world.queues.pending.get(queue_name)
            concerned += held.reservations if held is not None else ()
            concerned += [entry.key for entry in pending.entries()] if pending is not None else []
        return concerned

    def _enter(self, name: str) -> None:
        """The world goes by the stored object, but while a write of ours is under way by what that will make of it."""
        self.dirty[name] = None
        if name in self.sent:
            return
        self.wanted.pop(name, None)
        seen = self.stored.get((WORKLOAD, name))
        if seen is None:
            self.world.drop_workload(name)
            return
        workload: Workload = seen.value
        if name in self.world.assumed and not workload.reserved:
            self.world.forget(name, self._now())
        self.world.put_workload(workload, self._now())
        if alarm := next_moment(workload, self.waiting):
            heapq.heappush(self.alarms, (alarm, name))

    # --- what came of writes

    def _written(self, outcome: Written) -> None:
        self.stats.written += 1
        self.backoff.reset()
        kind, name = outcome.key
        if kind != WORKLOAD:
            self._see(self.followed[kind].seen(outcome.manifest), finished=True)
            return
        stored = read_workload(outcome.manifest)
        expected, wanted = self.sent.get(name), self.wanted.get(name)
        seen = self.followed[kind].seen(outcome.manifest)
        if wanted is not None and expected is not None and _alike(stored, expected):
            self.stored[seen.key] = seen
            del self.sent[name], self.wanted[name]
            self._submit(wanted)
            return
        self._see(seen, finished=True)

    def _failed(self, outcome: Failed) -> None:
        """Nothing is lost: the object is looked at again, as it is stored."""
        self.stats.failed += 1
        kind, name = outcome.key
        if isinstance(outcome.error, NotFound):
            self._see(Seen(outcome.key, "", None), finished=True)
        elif isinstance(outcome.error, Conflict) and kind == WORKLOAD and outcome.action is not None:
            namespace, _, bare = name.partition("/")
            self.read(outcome.key, WORKLOADS.item(bare, namespace))
        else:
            log.warning("%s %s: %s", kind, name, outcome.error)
            self.paused_until = self.clock() + int(self.backoff.next() * SECOND)
            heapq.heappush(self.alarms, (self.paused_until, name))
            self.sent.pop(name, None)
            if kind == WORKLOAD:
                self._enter(name)

    # --- what is decided

    def _act(self, now: int) -> None:
        while self.alarms and self.alarms[0][0] <= now:
            self.dirty[heapq.heappop(self.alarms)[1]] = None
        names, self.dirty = self.dirty, {}
        for name in names:
            self._step(name, now)
        for _ in range(_CYCLES):
            decisions = self.engine.step(now)
            if not decisions:
                break
            self.stats.cycles += 1
            for decision in decisions:
                self._carry_out(decision, now)

    def _step(self, name: str, now: int) -> None:
        """What the workload's own surroundings ask for."""
        workload = self.world.workloads.get(name)
        if workload is None or name in self.sent:
            return
        after = self.surroundings_of(workload, now).next(workload)
        if after != workload:
            self.world.put_workload(after, now)
            self._submit(after)

    def surroundings_of(self, workload: Workload, now: int) -> Lifecycle:
        world = self.world
        local = world.queues.local_queues.get(f"{workload.namespace}/{workload.queue}")
        name = workload.admission.cluster_queue if workload.admission else local.cluster_queue if local else ""
        queue = world.state.queues.get(name)
        blocker = world.queues.blocker(workload)
        blocked = (blocker.reason, blocker.message) if blocker else None
        if blocked is None and queue is not None and queue.inactive:
            blocked = ("Suspended", f"ClusterQueue {name} is inactive")
        return Lifecycle(now, local, queue.settings if queue else None, blocked, self.waiting)

    def _carry_out(self, decision: Decision, now: int) -> None:
        world = self.world
        if isinstance(decision, Reserve):
            queue = world.state.queues[decision.queue].settings
            self._submit(reserved(world.workloads[decision.workload.key], decision, queue, now))
        elif isinstance(decision, Preempt):
            self._submit(world.workloads[decision.target.key])
        else:
            before = world.workloads[decision.workload.key]
            after = waiting(before, decision, now, world.counting)
            if after != before:
                world.put_workload(after, now)
                self._submit(after)

    def _submit(self, after: Workload) -> None:
        """Have the workload written as it should be; behind a write of the same one that is under way."""
        if after.key in self.sent:
            self.wanted[after.key] = after
            return
        seen = self.stored.get((WORKLOAD, after.key))
        if seen is None:
            return
        patch = spec_patch(seen.value, after) or status_patch(seen.value, after, ADMISSION_MANAGER)
        if patch is not None:
            self.sent[after.key] = after
            self.write((WORKLOAD, after.key), patch)


def _alike(a: Workload, b: Workload) -> bool:
    """Whether they differ in nothing but the version."""
    return replace(a, resource_version="", generation=0) == replace(b, resource_version="", generation=0)


def _older(version: str, than: str) -> bool:
    """Whether it comes before what is known; what cannot be compared is newer. Source: KEP-5504."""
    if not (version.isdecimal() and than.isdecimal()):
        return False
    return (len(version), version) < (len(than), than)


def connect(cluster: Cluster, world: World, may_write: Callable[[], bool], **settings: Any) -> tuple[Loop, Writer]:
    """A loop over a cluster and the writer that it writes by; the caller closes the writer."""
    inbox: queue.SimpleQueue[Seen | Listed | Outcome] = queue.SimpleQueue()
    writer = Writer(cluster, inbox.put, may_write)
    return Loop(world, writer.write, writer.read, may_write, inbox=inbox, **settings), writer
