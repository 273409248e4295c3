"""The actions of a session: enqueue, allocate, backfill, reclaim, preempt.

Source: Volcano v1.16, pkg/scheduler/actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from scheduling.volcano.jobs import GangJob
from scheduling.volcano.machines import Room
from scheduling.volcano.objects import Status, Task
from scheduling.volcano.order import PriorityQueue, compare_jobs, compare_queues, compare_tasks, of_victims
from scheduling.volcano.refusal import NO_ROOM, QueueRefusal
from scheduling.volcano.resources import fits, is_nothing
from scheduling.volcano.session import SchedulingSession, SessionOutcome

Candidate = Callable[[Task], bool]
Refused = Callable[[str, Task], QueueRefusal | None]


def run(session: SchedulingSession, actions: Sequence[str]) -> SessionOutcome:
    """Run the actions in their order, and return what they decided. Raises KeyError for an unknown action."""
    for action in actions:
        if action == "allocate" and "enqueue" not in actions:
            _enqueue_all(session)
        ACTIONS[action](session)
    return _outcome(session)


def enqueue(session: SchedulingSession) -> None:
    """Let PodGroups that fit enter their queues. A PodGroup without minResources always enters."""
    lines = _by_queue(session, (job for job in session.awake if job.group.phase == "Pending"))
    queues = PriorityQueue(partial(compare_queues, session), lines)
    while queues:
        queue = queues.pop()
        if not lines[queue]:
            continue
        job = lines[queue].pop()
        refusal = None if job.group.minimum is None else session.may_enter(job)
        if refusal is None:
            session.entered(job)
        else:
            session.refuse(job.name, refusal)
        queues.put(queue)


def allocate(session: SchedulingSession) -> None:
    """Give nodes to pods of PodGroups that are in their queue, queue by queue, one PodGroup at a time.

    With settled reclaim, PodGroups for which pods were evicted come first. Otherwise the evicted pods would take the
    freed room again.
    """
    valid = [*_valid(session, session.awake)]
    if session.settled:
        _allocate_to(session, [job for job in valid if any(task.nominated for task in session.pending(job))])
    _allocate_to(session, valid)


def _allocate_to(session: SchedulingSession, jobs: Iterable[GangJob]) -> None:
    lines = _by_queue(session, jobs)
    waiting: dict[str, PriorityQueue[Task]] = {}
    queues = PriorityQueue(partial(compare_queues, session), lines)
    while queues:
        queue = queues.pop()
        if session.overused(queue) or not lines[queue]:
            continue
        job = lines[queue].pop()
        if job.name not in waiting:
            waiting[job.name] = _requesting_pods(session, job)
        if waiting[job.name] and _allocate_job(session, queue, job, waiting[job.name]):
            lines[queue].put(job)
        queues.put(queue)


def backfill(session: SchedulingSession) -> None:
    """Give nodes to pods that request nothing, whatever the limits of their queue."""
    for job in _valid(session, session.awake):
        for task in session.pending(job) if session.queues.get(job.group.queue) is not None else ():
            if not is_nothing(task.request):
                continue
            room = _best_room(session, task)
            if room is None or not fits(task.request, room.idle):
                session.refuse(task.name, NO_ROOM)
            else:
                session.allocate(task, room)


def reclaim(session: SchedulingSession) -> None:
    """Evict pods of other queues for PodGroups that have fewer pods than they need."""
    lines = _by_queue(session, (job for job in _valid(session, session.contenders()) if session.starves(job)))
    queues = PriorityQueue(partial(compare_queues, session), lines)
    while queues:
        queue = queues.pop()
        if session.overused(queue):
            continue
        while lines[queue]:
            _reclaim_for(session, queue, lines[queue].pop())


def preempt(session: SchedulingSession) -> None:
    """Evict pods for PodGroups that starve: of less important PodGroups in the queue, then of the PodGroup itself."""
    starving = [job for job in _valid(session, session.contenders()) if session.starves(job)]
    lines = _by_queue(session, starving)
    queues = PriorityQueue(partial(compare_queues, session), lines)
    while queues:
        queue = queues.pop()
        while lines[queue]:
            _preempt_for(session, queue, lines[queue].pop())
        for job in starving:
            if job.group.queue == queue:
                _preempt_within(session, queue, job)


ACTIONS: dict[str, Callable[[SchedulingSession], None]] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "backfill": backfill,
    "reclaim": reclaim,
    "preempt": preempt,
}


# --- the PodGroups that an action looks at


def _by_queue(session: SchedulingSession, jobs: Iterable[GangJob]) -> dict[str, PriorityQueue[GangJob]]:
    """The jobs in order, by queue. A job whose queue does not exist is refused."""
    lines: dict[str, PriorityQueue[GangJob]] = {}
    for job in jobs:
        if session.queues.get(job.group.queue) is None:
            session.refuse(job.name, QueueRefusal(f"queue {job.group.queue} does not exist"))
        else:
            lines.setdefault(job.group.queue, PriorityQueue(partial(compare_jobs, session))).put(job)
    return lines


def _valid(session: SchedulingSession, jobs: Iterable[GangJob]) -> Iterator[GangJob]:
    """The jobs that are in their queue and have the pods that they need."""
    for job in jobs:
        if job.group.lacks_pods and not session.with_all_pods:
            continue
        refusal = session.valid(job)
        if job.group.phase != "Pending" and refusal is not None:
            session.refuse(job.name, refusal)
        elif job.group.phase != "Pending":
            yield job


def _enqueue_all(session: SchedulingSession) -> None:
    """Move every Pending PodGroup into its queue, for a configuration without the action enqueue."""
    for job in session.awake:
        if job.group.phase == "Pending":
            session.moved_to(job, "Inqueue")


# --- one job


def _allocate_job(session: SchedulingSession, queue: str, job: GangJob, waiting: PriorityQueue[Task]) -> bool:
    """Give nodes to pods until the job is ready. If it does not get ready, take all of them back.

    Returns whether the job can get more nodes in a later turn.
    """
    steps: list[Task] = []
    while waiting:
        task = waiting.pop()
        refusal = session.allocatable(queue, task)
        if refusal is not None:
            session.refuse(task.name, refusal)
            continue
        room = _best_room(session, task)
        if room is None:
            session.refuse(task.name, NO_ROOM)
            continue
        steps.append(task)
        (session.allocate if fits(task.request, room.idle) else session.pipeline)(task, room)
        if session.ready(job) and waiting:
            break
    if not session.ready(job) and not session.pipelined(job):
        session.undo(steps)
        for task in steps:
            session.refuse(
                task.name, QueueRefusal(f"its PodGroup needs {job.group.members} pods at once, and not all of them fit")
            )
        return False
    return bool(steps) and bool(waiting)


def _requesting_pods(session: SchedulingSession, job: GangJob) -> PriorityQueue[Task]:
    """The pods that may be placed and request something, in their order."""
    some = (task for task in session.pending(job) if not is_nothing(task.request))
    return PriorityQueue(partial(compare_tasks, session), some)


def _preemptor_pods(session: SchedulingSession, job: GangJob) -> Iterator[Task]:
    """The pods that may preempt others, in their order, as long as the PodGroup starves."""
    waiting = _requesting_pods(session, job)
    while waiting and session.starves(job):
        task = waiting.pop()
        if _may_preempt(session, task):
            yield task


def _may_preempt(session: SchedulingSession, task: Task) -> bool:
    if task.never_preempts:
        session.refuse(task.name, QueueRefusal("its preemptionPolicy is Never"))
    return not task.never_preempts


def _is_eligible(session: SchedulingSession, task: Task) -> bool:
    """Whether the pod may preempt in its queue. As in Volcano, it may not do so again while it may run on its nominated
    node, even if nothing was evicted there in the end. With settled reclaim it may."""
    room = session.rooms.get(task.nominated)
    if session.settled or not task.nominated or (room is not None and session.misplaced(task, room)):
        return True
    session.refuse(task.name, QueueRefusal(f"it has preempted before, and waits for the Node {task.nominated}"))
    return False


def _reclaim_for(session: SchedulingSession, queue: str, job: GangJob) -> None:
    steps: list[Task] = []
    for task in _preemptor_pods(session, job):
        refusal = session.preemptive(queue, task)
        if refusal is not None:
            session.refuse(task.name, replace(refusal, reason=f"it may not reclaim: {refusal}"))
            continue
        reclaimed = partial(_reclaimable_from, session, queue)
        everywhere = session.settled and bool(steps)
        steps += _make_room(session, task, "reclaimable", reclaimed, queue, session.fits_afterwards, everywhere)
    if not session.pipelined(job):
        session.undo(steps)


def _reclaimable_from(session: SchedulingSession, queue: str, task: Task) -> bool:
    other = session.queue_of(task)
    node = session.queues.get(other)
    return other != queue and node is not None and node.settings.reclaimable


def _preempt_for(session: SchedulingSession, queue: str, job: GangJob) -> None:
    """Evict pods of other PodGroups in the queue until the job has its minimum. Otherwise take all of it back."""

    def others(candidate: Task) -> bool:
        return session.queue_of(candidate) == queue and candidate.group != job.name

    steps: list[Task] = []
    for task in filter(partial(_is_eligible, session), _preemptor_pods(session, job)):
        steps += _make_room(session, task, "preemptable", others, queue, session.allocatable, everywhere=True)
    if not session.pipelined(job):
        session.undo(steps)


def _preempt_within(session: SchedulingSession, queue: str, job: GangJob) -> None:
    """Evict less important pods of the job for its own, pod by pod, until there is no room for one.

    In Volcano, pods of a gang that does not get ready wait for room until the session ends. Here they are taken back,
    so that a world in which nothing else happens comes to rest.
    """

    def own(candidate: Task) -> bool:
        return candidate.group == job.name

    steps: list[Task] = []
    waiting = _requesting_pods(session, job)
    while waiting:
        task = waiting.pop()
        if not (_may_preempt(session, task) and _is_eligible(session, task)):
            break
        more = _make_room(session, task, "preemptable", own, queue, session.allocatable, everywhere=True)
        if not more:
            break
        steps += more
    if not session.pipelined(job):
        session.undo(steps)


def _make_room(
    session: SchedulingSession,
    task: Task,
    question: str,
    candidate: Candidate,
    queue: str,
    refused: Refused,
    everywhere: bool,
) -> list[Task]:
    """Evict pods on the first node where that makes enough room, and let the pod wait for that node.

    Returns the changed pods as they were before, for `undo`.

    question: "reclaimable" or "preemptable", the question that plugins answer about the victims.
    candidate: whether a pod may be a victim.
    refused: any other obstacle for the pod, such as a limit.
    everywhere: whether nodes without a candidate are tried too. Some pods of a gang may fit there without an eviction.
    """

    def enough(room: Room) -> bool:
        return fits(task.request, room.future_idle()) and refused(queue, task) is None

    known = question == "reclaimable" and session.memory.in_vain(queue, task)
    for room in () if known else session.rooms.values():
        if session.misplaced(task, room):
            continue
        candidates = _candidates_on(session, room, candidate, started=question == "reclaimable")
        if not (candidates or everywhere):
            continue
        steps = _evict(session, _victims(session, task, candidates, question), partial(enough, room))
        if enough(room):
            session.nominated |= {task.name: room.name} if steps else {}
            steps.append(task)
            session.pipeline(task, room)
            return steps
        session.undo(steps)
    session.memory.was_in_vain(queue, task)
    session.refuse(task.name, QueueRefusal("no pods may be evicted that would make room for it"))
    return []


def _candidates_on(session: SchedulingSession, room: Room, candidate: Candidate, *, started: bool) -> list[Task]:
    """The preemptable pods on the node that may be victims: those that run and, unless they must have `started`, those
    that were bound before this session."""

    def is_there(task: Task) -> bool:
        bound = not started and session.before(task).status is Status.ALLOCATED
        return task.status is Status.RUNNING or (bound and task.status is Status.ALLOCATED)

    there = (t for t in room.tasks.values() if t.preemptable and t.group in session.jobs and is_there(t))
    return [t for t in there if candidate(t)]


def _victims(session: SchedulingSession, task: Task, candidates: Iterable[Task], question: str) -> list[Task]:
    """The candidates that the plugins let be evicted for the pod, in the order of eviction."""
    key = of_victims(session, task)
    return sorted(session.victims(question, task, sorted(candidates, key=key)), key=key)


def _evict(session: SchedulingSession, victims: Iterable[Task], enough: Callable[[], bool]) -> list[Task]:
    """Evict victims until there is enough room. Returns the victims as they were before."""
    steps: list[Task] = []
    for victim in victims:
        if enough():
            break
        steps.append(victim)
        session.evict(victim)
    return steps


def _best_room(session: SchedulingSession, task: Task) -> Room | None:
    """A node that has room now, else one that will have it. The nominated node comes first, then the preferred one."""
    nominated = session.rooms.get(task.nominated)
    for free in (True, False):

        def suits(room: Room, free: bool = free) -> bool:
            # room that a pod waits for is not free, even if nobody uses it now
            fit = fits(task.request, room.future_idle()) and (not free or fits(task.request, room.idle))
            return fit and session.misplaced(task, room) is None

        if nominated is not None and suits(nominated):
            return nominated
        room = session.preferred(task, filter(suits, session.memory.worth_a_look(task, free=free)))
        if room is not None:
            return room
    return None


def _outcome(session: SchedulingSession) -> SessionOutcome:
    changed = session.changed()
    got = {name: task for name, task in changed.items() if session.ready(session.job_of(task))}
    jobs = {job.name: job for job in (*session.awake, *map(session.job_of, changed.values()))}
    return SessionOutcome(
        binds={name: task.node for name, task in got.items() if task.status is Status.ALLOCATED},
        evicted=tuple(sorted(name for name, task in changed.items() if task.status is Status.RELEASING)),
        pipelined={name: task.node for name, task in changed.items() if task.status is Status.PIPELINED},
        nominated=session.nominated,
        phases={name: _phase(session, job) for name, job in jobs.items()},
        refusals={name: tuple(reasons) for name, reasons in session.refusals.items() if name not in changed},
    )


def _phase(session: SchedulingSession, job: GangJob) -> str:
    """The phase of the PodGroup after the session.

    Pods that this session placed do not count: they have not started.
    """
    started = [t for t in job.tasks.values() if t.status is not Status.PENDING and session.before(t).node]
    if job.count(Status.RUNNING) and not session.ready(job):
        return "Unknown"
    if len(started) < job.group.members:
        return "Inqueue" if job.group.phase == "Inqueue" else "Pending"
    return "Completed" if all(task.status is Status.FINISHED for task in started) else "Running"
