"""Simulates Volcano from manifests: work comes and ends, and sessions run until nothing changes any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from policies.dialects import volcano
from policies.dialects.reading import Manifest
from policies.impact.quotas import Excess, QuotaPair
from policies.model.objects import Ref
from scheduling.queue_tree.simulated import PlayedEvent, RunningPods
from scheduling.volcano.engine import PluginEngine
from scheduling.volcano.objects import Status, Task
from scheduling.volcano.play.intake import VolcanoIntake
from scheduling.volcano.queues import ALLOCATED
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.resources import PODS, nano
from scheduling.volcano.scheduler_conf import SETTLED_CONF, SchedulerConf
from scheduling.volcano.session import SessionOutcome
from scheduling.volcano.setup import engine

HAS_ROOM = QueueRefusal("there is room for it, and the scheduler has not placed it yet")
RECLAIMS = QueueRefusal("it may reclaim room from others, and the scheduler has not done so yet")
_LEAST_SESSIONS = 100
_SESSIONS_EACH = 5
"""After this many sessions for each pod, and _LEAST_SESSIONS more, a simulation counts as never settling."""


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The PodGroup reserved its minimum in its queue."""

    at: int
    group: str
    queue: str


@dataclass(frozen=True, slots=True)
class PodsRan:
    """Pods of the PodGroup got nodes."""

    at: int
    group: str
    queue: str
    pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodsEvicted:
    """Pods of the PodGroup were evicted, and wait again. `preemptors` are the PodGroups that get their room."""

    at: int
    group: str
    queue: str
    pods: tuple[str, ...]
    preemptors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PodGroupEnded:
    """The pod, or the PodGroup with its pods, of this name ended."""

    at: int
    name: str


Trace: TypeAlias = PlayedEvent | Enqueued | PodsRan | PodsEvicted | PodGroupEnded


class VolcanoSimulation:
    """A simulation of Volcano's scheduler.

    An evicted pod stops at once and waits again. With Volcano's own configuration it waits one session longer, since
    a controller recreates such pods while the scheduler already uses their room.

    conf: the configuration of the scheduler.
    refusals: why each PodGroup or pod waits.
    next: decisions about waiting pods that `look` did not carry out.
    unsettled: whether sessions kept changing something until the limit.
    """

    def __init__(self, start: int, conf: SchedulerConf = SETTLED_CONF) -> None:
        self.start = self.now = start
        self.conf = conf
        self.engine: PluginEngine = engine(conf.tiers)
        self.intake = VolcanoIntake(self.engine.world)
        self.trace: list[Trace] = []
        self.refusals: Mapping[str, tuple[QueueRefusal, ...]] = {}
        self.next: Mapping[str, QueueRefusal] = {}
        self.unsettled = False
        self._away: list[Task] = []

    # --- events

    def announce(self, event: str) -> None:
        self.trace.append(PlayedEvent(self.now, event))

    def change(self, manifests: Iterable[Manifest]) -> None:
        """Add or change objects, in any order. Decisions follow when the caller calls `settle`."""
        self.intake.put(manifests, self.now)

    def drop(self, refs: Iterable[Ref]) -> None:
        """Delete objects, without decisions. Pods in a deleted queue keep running, and nothing new starts there."""
        self.intake.drop(refs)

    def finish(self, key: str) -> bool:
        """End the Job, the PodGroup or the Pod `namespace/name`, then settle. Returns False if it does not exist."""
        world = self.engine.world
        if not self.intake.drop_job(key):
            task = world.tasks.get(key)
            if task is None or task.status is Status.FINISHED:
                return False
            world.put_task(replace(task, status=Status.FINISHED))
        self.trace.append(PodGroupEnded(self.now, key))
        self.settle()
        return True

    def at(self, moment: int) -> None:
        """Let time pass up to `moment`."""
        self.now = max(self.now, moment)

    def settle(self) -> None:
        """Run sessions until nothing changes. The last one looks at all PodGroups, so that `refusals` is complete."""
        for _ in range(_LEAST_SESSIONS + _SESSIONS_EACH * len(self.engine.world.tasks)):
            if self._session():
                continue
            self.engine.world.parked.none_parked = True
            if not self._session():
                return
        self._bring_back()
        self.unsettled = True

    def look(self) -> None:
        """Run one session without carrying out its decisions, to learn why work waits."""
        outcome = self.engine.consider(self.conf.actions)
        self.refusals = outcome.refusals
        self.next = dict.fromkeys(outcome.binds, HAS_ROOM) | dict.fromkeys(outcome.pipelined, RECLAIMS)

    # --- the current state

    @property
    def problems(self) -> list[str]:
        return self.intake.problems

    @property
    def has_work(self) -> bool:
        """Whether there are, or were, PodGroups of Volcano."""
        return bool(self.engine.world.jobs) or any(not isinstance(each, PlayedEvent) for each in self.trace)

    def running(self) -> dict[str, RunningPods]:
        """The running pods of each PodGroup, by the name that a user knows it by."""
        counts = ((job, job.count(Status.RUNNING)) for job in self.engine.world.jobs.values())
        return {self.display_name(job.name): RunningPods(job.group.queue, count) for job, count in counts if count}

    def display_name(self, group: str) -> str:
        """The name by which a user knows a PodGroup: that of its Job, if it has one."""
        return self.intake.display_names.get(group, group)

    def excesses(self) -> Iterator[Excess]:
        """Yield the queues and resources whose usage exceeds the limit."""
        queues = self.engine.world.queues
        for node in queues:
            limits = queues.limit(node)
            for resource, used in node.amounts(ALLOCATED).items():
                limit = limits.get(resource, 0)
                if resource != PODS and used > limit:
                    yield Excess(
                        volcano.queue_ref(node.name),
                        QuotaPair("", resource),
                        nano(resource, used),
                        nano(resource, limit),
                    )

    # --- sessions

    def _session(self) -> bool:
        """Run one session and carry it out. Returns whether anything changed."""
        world = self.engine.world
        before = {name: world.jobs[name].group.phase for name in world.jobs}
        outcome = self.engine.decide(self.conf.actions)
        self.refusals = outcome.refusals
        moved = bool(self._away or outcome.binds or outcome.evicted or outcome.pipelined)
        self._bring_back()
        for name, phase in outcome.phases.items():
            moved |= before[name] != phase
            if phase == "Inqueue" and before[name] == "Pending":
                self.trace.append(Enqueued(self.now, name, world.jobs[name].group.queue))
        self._note_evictions(outcome)
        moved |= self._note_nominations(outcome)
        self._note_starts(outcome)
        return moved

    def _note_nominations(self, outcome: SessionOutcome) -> bool:
        """Remember the nodes for the next sessions, unless reclaim settles. Returns whether one of them is new."""
        found = {} if self.conf.settled else outcome.nominated
        tasks = self.engine.world.tasks
        news = {name: node for name, node in found.items() if tasks[name].nominated != node}
        for name, node in news.items():
            self.engine.world.put_task(replace(tasks[name], nominated=node))
        return bool(news)

    def _note_evictions(self, outcome: SessionOutcome) -> None:
        world = self.engine.world
        takers: dict[str, dict[str, None]] = {}
        for name, node in outcome.pipelined.items():
            takers.setdefault(node, {})[world.tasks[name].group] = None
            world.put_task(replace(world.tasks[name], nominated=node))
        victims: dict[str, list[str]] = {}
        preemptors: dict[str, dict[str, None]] = {}
        for name in outcome.evicted:
            task = world.tasks[name]
            victims.setdefault(task.group, []).append(name)
            preemptors.setdefault(task.group, {}).update(takers.get(task.node, {}))
            anew = replace(task, status=Status.PENDING, node="", nominated="")
            if self.conf.settled:
                world.put_task(anew)
            else:
                world.drop_task(name)
                self._away.append(replace(anew, created=self.now))
        for group, pods in sorted(victims.items()):
            queue = world.jobs[group].group.queue
            self.trace.append(PodsEvicted(self.now, group, queue, tuple(pods), tuple(preemptors[group])))

    def _bring_back(self) -> None:
        """Let the pods that were evicted before this session wait again."""
        for task in self._away:
            self.engine.world.put_task(task)
        self._away.clear()

    def _note_starts(self, outcome: SessionOutcome) -> None:
        world = self.engine.world
        started: dict[str, list[str]] = {}
        for name in outcome.binds:
            task = world.tasks[name]
            started.setdefault(task.group, []).append(name)
            world.put_task(replace(task, status=Status.RUNNING, nominated=""))
        for group, pods in sorted(started.items()):
            self.trace.append(PodsRan(self.now, group, world.jobs[group].group.queue, tuple(sorted(pods))))
