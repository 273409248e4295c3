"""Who comes first: queues, PodGroups, pods, and victims. Plugins are asked first, then age and name decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from scheduling.volcano.jobs import Job
from scheduling.volcano.objects import Task
from scheduling.volcano.session import Session

T = TypeVar("T")


class Line(Generic[T]):
    """A priority queue. An entry keeps the place that it had when it was put in, until it is put in again."""

    def __init__(self, key: Callable[[T], Any], entries: Iterable[T] = ()) -> None:
        self._key = key
        self._heap: list[tuple[Any, int, T]] = []
        self._count = 0
        for entry in entries:
            self.put(entry)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def put(self, entry: T) -> None:
        self._count += 1
        heappush(self._heap, (self._key(entry), self._count, entry))

    def pop(self) -> T:
        return heappop(self._heap)[2]


def of_queues(session: Session) -> Callable[[str], Any]:
    return cmp_to_key(lambda a, b: compare_queues(session, a, b))


def of_jobs(session: Session) -> Callable[[Job], Any]:
    return cmp_to_key(lambda a, b: compare_jobs(session, a, b))


def of_tasks(session: Session) -> Callable[[Task], Any]:
    return cmp_to_key(lambda a, b: compare_tasks(session, a, b))


def of_victims(session: Session, preemptor: Task) -> Callable[[Task], Any]:
    """The first is taken first: of the queue that is nearest to the preemptor's, of the PodGroup that is served last,
    and of its pods the last."""

    def compare(a: Task, b: Task) -> int:
        if a.group == b.group:
            return -compare_tasks(session, a, b)
        left, right = session.queue_of(a), session.queue_of(b)
        if left == right:
            return -compare_jobs(session, session.job_of(a), session.job_of(b))
        mine = session.queue_of(preemptor)
        for tier in session.asks("victimQueueOrder"):
            for plugin in tier:
                if found := plugin.victim_queue_order(left, right, mine):
                    return found
        return -compare_queues(session, left, right)

    return cmp_to_key(compare)


def compare_queues(session: Session, a: str, b: str) -> int:
    for tier in session.asks("queueOrder"):
        for plugin in tier:
            if found := plugin.queue_order(a, b):
                return found
    nodes = session.queues.tree.nodes
    return _compare((nodes[a].settings.created, a), (nodes[b].settings.created, b))


def compare_jobs(session: Session, a: Job, b: Job) -> int:
    for tier in session.asks("jobOrder"):
        for plugin in tier:
            if found := plugin.job_order(a, b):
                return found
    return _compare((a.group.created, a.name), (b.group.created, b.name))


def compare_tasks(session: Session, a: Task, b: Task) -> int:
    for tier in session.asks("taskOrder"):
        for plugin in tier:
            if found := plugin.task_order(a, b):
                return found
    return _compare((a.created, a.name), (b.created, b.name))


def _compare(a: tuple[int, str], b: tuple[int, str]) -> int:
    return 0 if a == b else -1 if a < b else 1
