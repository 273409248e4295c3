"""One session: PodGroups, pods and nodes as they are, and the plugins that are asked.

Within a tier all plugins must agree; where a tier has chosen victims, later tiers are not asked.
Source: Volcano v1.16, pkg/scheduler/framework.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scheduling.volcano.jobs import Job
from scheduling.volcano.machines import Room
from scheduling.volcano.memory import Memory
from scheduling.volcano.objects import Machine, PodGroup, Status, Task
from scheduling.volcano.plugin import ALWAYS, SWITCHES, Plugin
from scheduling.volcano.queues import Queues
from scheduling.volcano.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Enabled:
    """A plugin of a tier and the features that are switched on for it; None: all."""

    plugin: Plugin
    features: frozenset[str] | None = None

    def speaks_to(self, question: str) -> bool:
        if question not in self.plugin.answers:
            return False
        return question in ALWAYS or self.features is None or SWITCHES.get(question, question) in self.features


Tiers = Sequence[Sequence[Enabled]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session has decided. `refusals` says, by PodGroup or pod, why it got nothing, in the order of actions."""

    binds: Mapping[str, str] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()
    pipelined: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, tuple[Refusal, ...]] = field(default_factory=dict)


class Session:
    """State and questions. Actions change the state by `allocate`, `pipeline` and `evict`, and may undo that."""

    def __init__(
        self,
        queues: Queues,
        groups: Iterable[PodGroup],
        tasks: Iterable[Task],
        machines: Iterable[Machine],
        tiers: Tiers,
    ) -> None:
        self.queues = queues
        self.jobs = {group.name: Job(group) for group in sorted(groups, key=lambda group: group.name)}
        self.rooms = {machine.name: Room(machine) for machine in sorted(machines, key=lambda machine: machine.name)}
        self.memory = Memory(self.rooms)
        for task in sorted(tasks, key=lambda task: task.name):
            self._place(task)
        self._tiers = tiers
        self._asked: dict[str, list[list[Plugin]]] = {}
        self.refusals: dict[str, list[Refusal]] = {}
        for plugin in self._plugins():
            plugin.session = self
            plugin.open(self.jobs.values())

    def job_of(self, task: Task) -> Job:
        return self.jobs[task.group]

    def queue_of(self, task: Task) -> str:
        return self.jobs[task.group].group.queue

    def pending(self, job: Job) -> list[Task]:
        """The pods that may be placed, in no order."""
        return [task for task in job.tasks.values() if task.status is Status.PENDING and not task.gated]

    # --- questions

    def asks(self, question: str) -> list[list[Plugin]]:
        """The plugins that speak to the question, by tier; tiers without any are left out."""
        found = self._asked.get(question)
        if found is None:
            tiers = ([e.plugin for e in tier if e.speaks_to(question)] for tier in self._tiers)
            found = self._asked[question] = [tier for tier in tiers if tier]
        return found

    def valid(self, job: Job) -> Refusal | None:
        return _first(plugin.job_valid(job) for plugin in self._answering("jobValid"))

    def overused(self, queue: str) -> Refusal | None:
        return _first(plugin.overused(queue) for plugin in self._answering("overused"))

    def allocatable(self, queue: str, task: Task) -> Refusal | None:
        return _first(plugin.allocatable(queue, task) for plugin in self._answering("allocatable"))

    def preemptive(self, queue: str, task: Task) -> Refusal | None:
        return _first(plugin.preemptive(queue, task) for plugin in self._answering("preemptive"))

    def fits_afterwards(self, queue: str, task: Task) -> Refusal | None:
        return _first(plugin.fits_afterwards(queue, task) for plugin in self._answering("fitsAfterwards"))

    def misplaced(self, task: Task, room: Room) -> Refusal | None:
        return _first(plugin.predicate(task, room) for plugin in self._answering("predicate"))

    def may_enter(self, job: Job) -> Refusal | None:
        """The first tier that speaks to it decides."""
        return _first(plugin.job_enqueueable(job) for tier in self.asks("jobEnqueueable")[:1] for plugin in tier)

    def entered(self, job: Job) -> None:
        for tier in self.asks("jobEnqueued"):
            for plugin in tier:
                plugin.job_enqueued(job)

    def starves(self, job: Job) -> bool:
        """By the first tier that speaks to it; nobody starves where none does."""
        return any(all(plugin.job_starving(job) for plugin in tier) for tier in self.asks("jobStarving")[:1])

    def ready(self, job: Job) -> bool:
        return all(plugin.job_ready(job) for tier in self.asks("jobReady") for plugin in tier)

    def pipelined(self, job: Job) -> bool:
        return all(plugin.job_pipelined(job) for tier in self.asks("jobPipelined")[:1] for plugin in tier)

    def victims(self, question: str, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """Those candidates that all plugins of one tier would take; the first tier that leaves any decides.

        As in Volcano, a tier that starts empty-handed is passed over, and one that ends so leaves nobody for the next.
        """
        chosen: list[Task] | None = None
        for tier in self.asks(question):
            for plugin in tier:
                allowed = (plugin.reclaimable if question == "reclaimable" else plugin.preemptable)(task, candidates)
                if not allowed:
                    chosen = None if chosen is None else []
                    break
                names = {victim.name for victim in allowed}
                chosen = allowed if chosen is None else [victim for victim in chosen if victim.name in names]
            if chosen:
                return chosen
        return []

    def refuse(self, name: str, refusal: Refusal) -> None:
        """Note why a PodGroup or a pod gets nothing; each reason once."""
        if refusal not in self.refusals.setdefault(name, []):
            self.refusals[name].append(refusal)

    # --- changes

    def allocate(self, task: Task, room: Room) -> None:
        """The pod gets the node."""
        self._change(task, Status.ALLOCATED, room)

    def pipeline(self, task: Task, room: Room) -> None:
        """The pod waits for the node to become free. It counts in its queue all the same."""
        self._change(task, Status.PIPELINED, room)

    def evict(self, task: Task) -> None:
        self._change(task, Status.RELEASING, self.rooms[task.node])

    def undo(self, steps: Sequence[Task]) -> None:
        """Bring these pods back to what they were, the last first."""
        for before in reversed(steps):
            self._restore(before)

    def _change(self, task: Task, status: Status, room: Room) -> None:
        now = self.job_of(task).with_status(task.name, status, room.name)
        room.put(now)
        self.memory.changed(grew=status is Status.RELEASING)
        self._notify(now, gone=status is Status.RELEASING)

    def _restore(self, before: Task) -> None:
        job = self.job_of(before)
        now = job.tasks[before.name]
        self.memory.changed(grew=True)
        self.rooms[now.node].remove(now.name)
        job.put(before)
        if before.status.holds_quota:
            self.rooms[before.node].put(before)
        self._notify(before, gone=not before.status.holds_quota)

    def _notify(self, task: Task, *, gone: bool) -> None:
        for plugin in self._plugins():
            (plugin.deallocated if gone else plugin.allocated)(task)

    def _place(self, task: Task) -> None:
        """A pod of an unknown PodGroup takes room on its node, and no part in decisions."""
        job = self.jobs.get(task.group)
        if job is not None:
            job.put(task)
        room = self.rooms.get(task.node)
        if room is not None and task.status not in (Status.PENDING, Status.FINISHED):
            room.put(task)

    def _answering(self, question: str) -> Iterator[Plugin]:
        return (plugin for tier in self.asks(question) for plugin in tier)

    def _plugins(self) -> Iterator[Plugin]:
        return iter({id(enabled.plugin): enabled.plugin for tier in self._tiers for enabled in tier}.values())


def _first(answers: Iterable[Refusal | None]) -> Refusal | None:
    """The first no; nobody is asked after it."""
    return next((answer for answer in answers if answer is not None), None)
