"""One session: PodGroups, pods, nodes, and the plugins that decide about them.

All plugins of a tier must agree. Once a tier has chosen victims, later tiers are not asked.
Source: Volcano v1.16, pkg/scheduler/framework.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scheduling.volcano.jobs import GangJob
from scheduling.volcano.machines import Room
from scheduling.volcano.objects import PodGroup, Status, Task
from scheduling.volcano.plugin import ALWAYS, SWITCHES, Plugin
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.resources import fits
from scheduling.volcano.world import SessionWorld

_Shape = Hashable


@dataclass(frozen=True, slots=True)
class Enabled:
    """A plugin of a tier. `features`: those that are switched on; None means all."""

    plugin: Plugin
    features: frozenset[str] | None = None

    def answers(self, question: str) -> bool:
        if question not in self.plugin.answers:
            return False
        return question in ALWAYS or self.features is None or SWITCHES.get(question, question) in self.features


Tiers = Sequence[Sequence[Enabled]]


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The decisions of a session, by the name of a pod or a PodGroup.

    binds: the pods that got a node, with the node.
    evicted: the pods to evict.
    pipelined: the pods that wait for room on a node, with the node.
    nominated: the pods for which pods on a node were evicted, or would have been, had their gang got enough; with it.
    phases: the phases of PodGroups.
    refusals: why a PodGroup or a pod got nothing, in the order of actions.
    """

    binds: Mapping[str, str] = field(default_factory=dict)
    evicted: tuple[str, ...] = ()
    pipelined: Mapping[str, str] = field(default_factory=dict)
    nominated: Mapping[str, str] = field(default_factory=dict)
    phases: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, tuple[QueueRefusal, ...]] = field(default_factory=dict)


class SchedulingSession:
    """The state of a session, and the questions that its plugins answer.

    Actions change the state by `allocate`, `pipeline` and `evict`, and may undo these changes.

    awake: the PodGroups to try. The others would be refused again.
    with_all_pods: whether pods that the controller of a Job still has to create may be placed.
    """

    def __init__(self, world: SessionWorld, tiers: Tiers) -> None:
        self.world = world
        self.queues = world.queues
        self.jobs = world.jobs
        self.rooms = world.rooms
        self.awake = world.awake()
        self.with_all_pods = False
        self.memory = Memory(self.rooms)
        self.refusals: dict[str, list[QueueRefusal]] = {}
        self.nominated: dict[str, str] = {}  # see SessionOutcome
        self._tiers = tiers
        self._asked: dict[str, list[list[Plugin]]] = {}  # the plugins by question and tier
        self._tasks: dict[str, Task] = {}  # changed pods as they were before the session
        self._groups: dict[str, PodGroup] = {}  # changed PodGroups as they were before the session
        for plugin in self.plugins():
            plugin.session = self
            plugin.open(world)

    def job_of(self, task: Task) -> GangJob:
        return self.jobs[task.group]

    def queue_of(self, task: Task) -> str:
        return self.jobs[task.group].group.queue

    def pending(self, job: GangJob) -> list[Task]:
        """The pods that may be placed, not sorted."""
        return [*job.placeable.values()]

    def contenders(self) -> list[GangJob]:
        """The PodGroups that may preempt: all that wait, or only the awake ones if nothing has changed."""
        everybody = self.world.moved or self._tasks
        return [*self.world.waiting()] if everybody else [job for job in self.awake if job.placeable]

    # --- questions

    @property
    def settled(self) -> bool:
        """Whether reclaim is restricted so that queues do not reclaim in turns, unlike in Volcano."""
        return any(plugin.settled for plugin in self.plugins())

    def asks(self, question: str) -> list[list[Plugin]]:
        """The plugins that answer the question, by tier. Tiers without any are left out."""
        found = self._asked.get(question)
        if found is None:
            tiers = ([e.plugin for e in tier if e.answers(question)] for tier in self._tiers)
            found = self._asked[question] = [tier for tier in tiers if tier]
        return found

    def valid(self, job: GangJob) -> QueueRefusal | None:
        return _first(plugin.job_valid(job) for plugin in self._plugins_for("jobValid"))

    def overused(self, queue: str) -> QueueRefusal | None:
        return _first(plugin.overused(queue) for plugin in self._plugins_for("overused"))

    def allocatable(self, queue: str, task: Task) -> QueueRefusal | None:
        return _first(plugin.allocatable(queue, task) for plugin in self._plugins_for("allocatable"))

    def preemptive(self, queue: str, task: Task) -> QueueRefusal | None:
        return _first(plugin.preemptive(queue, task) for plugin in self._plugins_for("preemptive"))

    def fits_afterwards(self, queue: str, task: Task) -> QueueRefusal | None:
        return _first(plugin.fits_afterwards(queue, task) for plugin in self._plugins_for("fitsAfterwards"))

    def misplaced(self, task: Task, room: Room) -> QueueRefusal | None:
        return _first(plugin.predicate(task, room) for plugin in self._plugins_for("predicate"))

    def preferred(self, task: Task, rooms: Iterable[Room]) -> Room | None:
        """The node with the highest score, the first of equal ones.

        Without a plugin that scores nodes, the first node.
        """
        plugins = [*self._plugins_for("nodeOrder")]
        if not plugins:
            return next(iter(rooms), None)
        return max(rooms, key=lambda room: sum(plugin.node_order(task, room) for plugin in plugins), default=None)

    def may_enter(self, job: GangJob) -> QueueRefusal | None:
        """Whether the PodGroup may enter its queue. The first tier that answers decides."""
        return _first(plugin.job_enqueueable(job) for tier in self.asks("jobEnqueueable")[:1] for plugin in tier)

    def entered(self, job: GangJob) -> None:
        """Move the PodGroup into its queue, and let plugins reserve its minimum."""
        self.moved_to(job, "Inqueue")
        for plugin in self._plugins_for("jobEnqueued"):
            plugin.job_enqueued(job)

    def starves(self, job: GangJob) -> bool:
        """Whether the job starves, by the first tier that answers. Without an answer it does not."""
        return any(all(plugin.job_starving(job) for plugin in tier) for tier in self.asks("jobStarving")[:1])

    def ready(self, job: GangJob) -> bool:
        return all(plugin.job_ready(job) for tier in self.asks("jobReady") for plugin in tier)

    def pipelined(self, job: GangJob) -> bool:
        return all(plugin.job_pipelined(job) for tier in self.asks("jobPipelined")[:1] for plugin in tier)

    def victims(self, question: str, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that all plugins of one tier would evict. The first tier with a result decides.

        As in Volcano, a tier is skipped if one of its plugins would evict nothing. Plugins that agree on no candidate
        do not count: the next plugin of the tier decides without them.
        """
        for tier in self.asks(question):
            chosen: list[Task] = []
            for plugin in tier:
                allowed = (plugin.reclaimable if question == "reclaimable" else plugin.preemptable)(task, candidates)
                if not allowed:
                    chosen = []
                    break
                names = {victim.name for victim in allowed}
                chosen = [victim for victim in chosen if victim.name in names] if chosen else allowed
            if chosen:
                return chosen
        return []

    def refuse(self, name: str, refusal: QueueRefusal) -> None:
        """Record why a PodGroup or a pod gets nothing. Each reason is recorded once."""
        if refusal not in self.refusals.setdefault(name, []):
            self.refusals[name].append(refusal)

    # --- changes

    def allocate(self, task: Task, room: Room) -> None:
        self._change(task, Status.ALLOCATED, room)

    def pipeline(self, task: Task, room: Room) -> None:
        """Let the pod wait for room on the node. It already counts in its queue."""
        self._change(task, Status.PIPELINED, room)

    def evict(self, task: Task) -> None:
        self._change(task, Status.RELEASING, self.rooms[task.node])

    def undo(self, steps: Sequence[Task]) -> None:
        """Restore these pods, the last one first."""
        for before in reversed(steps):
            self._restore(before)

    def moved_to(self, job: GangJob, phase: str) -> None:
        self._groups.setdefault(job.name, job.group)
        job.group = replace(job.group, phase=phase)

    def changed(self) -> dict[str, Task]:
        """The pods that have changed since the session began, in their current state."""
        return {name: self.job_of(before).tasks[name] for name, before in self._tasks.items()}

    def before(self, task: Task) -> Task:
        """The pod as it was when the session began."""
        return self._tasks.get(task.name, task)

    def close(self) -> None:
        """Restore the world to its state when the session began."""
        self.undo([*self._tasks.values()])
        for name, group in self._groups.items():
            self.jobs[name].group = group
        for plugin in self.plugins():
            plugin.close()

    def _change(self, task: Task, status: Status, room: Room) -> None:
        job = self.job_of(task)
        self._tasks.setdefault(task.name, job.tasks[task.name])
        now = job.with_status(task.name, status, room.name)
        room.put(now)
        self.memory.changed(grew=status is Status.RELEASING)
        self._notify(now, gone=status is Status.RELEASING)

    def _restore(self, before: Task) -> None:
        job = self.job_of(before)
        now = job.tasks[before.name]
        self.memory.changed(grew=True)
        self.rooms[now.node].remove(now.name)
        job.put(before)
        if self._tasks.get(before.name) is before:
            del self._tasks[before.name]
        if before.status.holds_quota:
            self.rooms[before.node].put(before)
        self._notify(before, gone=not before.status.holds_quota)

    def _notify(self, task: Task, *, gone: bool) -> None:
        for plugin in self.plugins():
            (plugin.deallocated if gone else plugin.allocated)(task)

    def _plugins_for(self, question: str) -> Iterator[Plugin]:
        return (plugin for tier in self.asks(question) for plugin in tier)

    def plugins(self) -> Iterator[Plugin]:
        """Yield each plugin once, even if several tiers name it."""
        return iter({id(enabled.plugin): enabled.plugin for tier in self._tiers for enabled in tier}.values())


def _first(answers: Iterable[QueueRefusal | None]) -> QueueRefusal | None:
    """The first refusal. Later plugins are not asked."""
    return next((answer for answer in answers if answer is not None), None)


class Memory:
    """The failed attempts over these nodes, which are tried in this order, so that none is repeated.

    Without it, each of ten thousand equal pods would look at every node. Room on nodes only shrinks until a pod is
    removed; then the memory is cleared.
    """

    def __init__(self, rooms: Mapping[str, Room]) -> None:
        self._rooms = [*rooms.values()]
        self._first: dict[tuple[_Shape, bool], int] = {}  # by key and `free`: the first node that may have room
        self._vain: set[Hashable] = set()  # queues and keys of vain reclaims

    def worth_a_look(self, task: Task, *, free: bool) -> Iterator[Room]:
        """The nodes that may have room for the pod, in order: with `free` now, else after leaving pods have left."""
        key = (_shape(task), free)
        for i in range(self._first.get(key, 0), len(self._rooms)):
            room = self._rooms[i]
            if fits(task.request, room.idle if free else room.future_idle()):
                yield room
            elif self._first.get(key, 0) == i:
                self._first[key] = i + 1

    def in_vain(self, queue: str, task: Task) -> bool:
        """Whether the queue failed to reclaim for an equal pod, and nothing has changed since."""
        return (queue, _shape(task)) in self._vain

    def was_in_vain(self, queue: str, task: Task) -> None:
        self._vain.add((queue, _shape(task)))

    def changed(self, *, grew: bool) -> None:
        """Forget vain reclaims after a change; if room `grew` on a node, also which nodes were full."""
        self._vain.clear()
        if grew:
            self._first.clear()


def _shape(task: Task) -> _Shape:
    """The key of a pod: pods with the same key fit on the same nodes and may reclaim the same pods."""
    claims = tuple(sorted(task.claims))
    return (tuple(sorted(task.request.items())), task.placement, task.priority, task.group if claims else "", claims)
