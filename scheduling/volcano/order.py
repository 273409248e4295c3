"""The order of queues, PodGroups, pods and victims: by the plugins, then by age and name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Task
from scheduling.volcano.session import SchedulingSession

T = TypeVar("T")


Compare = Callable[[T, T], int]


class PriorityQueue(Generic[T]):
    """A priority queue. An entry keeps its place until it is put in again, even if its priority changes."""

    def __init__(self, compare: Compare[T], entries: Iterable[T] = ()) -> None:
        def by_place(a: tuple[int, T], b: tuple[int, T]) -> int:
            return compare(a[1], b[1]) or a[0] - b[0]

        self._key = cmp_to_key(by_place)
        self._heap: list[Any] = []
        self._count = 0
        for entry in entries:
            self.put(entry)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def put(self, entry: T) -> None:
        self._count += 1
        heappush(self._heap, self._key((self._count, entry)))

    def pop(self) -> T:
        first: T = heappop(self._heap).obj[1]
        return first


def of_victims(session: SchedulingSession, preemptor: Task) -> Callable[[Task], Any]:
    """The sort key of victims; the first one is evicted first.

    Pods of the queue nearest to the preemptor's come first, of these the pods of the PodGroup that plugins serve last,
    of these the last pod. The age of a PodGroup does not count, so that equal PodGroups lose pods in turns.
    """

    def compare(a: Task, b: Task) -> int:
        left, right = session.queue_of(a), session.queue_of(b)
        if left == right:
            return -(_ask_job_order(session, session.job_of(a), session.job_of(b)) or compare_tasks(session, a, b))
        mine = session.queue_of(preemptor)
        for tier in session.asks("victimQueueOrder"):
            for plugin in tier:
                if found := plugin.victim_queue_order(left, right, mine):
                    return found
        return -compare_queues(session, left, right)

    return cmp_to_key(compare)


def compare_queues(session: SchedulingSession, a: str, b: str) -> int:
    for tier in session.asks("queueOrder"):
        for plugin in tier:
            if found := plugin.queue_order(a, b):
                return found
    nodes = session.queues.tree.nodes
    return _compare((nodes[a].settings.created, a), (nodes[b].settings.created, b))


def compare_jobs(session: SchedulingSession, a: GangJob, b: GangJob) -> int:
    return _ask_job_order(session, a, b) or _compare((a.group.created, a.name), (b.group.created, b.name))


def _ask_job_order(session: SchedulingSession, a: GangJob, b: GangJob) -> int:
    """The order by the plugins; 0 if no plugin orders them."""
    if a is not b:
        for tier in session.asks("jobOrder"):
            for plugin in tier:
                if found := plugin.job_order(a, b):
                    return found
    return 0


def compare_tasks(session: SchedulingSession, a: Task, b: Task) -> int:
    """The order by the plugins, then by the index in the name, which Volcano's Jobs give their pods, then by age."""
    for tier in session.asks("taskOrder"):
        for plugin in tier:
            if found := plugin.task_order(a, b):
                return found
    if a.index is not None and b.index is not None and a.index != b.index:
        return a.index - b.index
    return _compare((a.created, a.name), (b.created, b.name))


def _compare(a: tuple[int, str], b: tuple[int, str]) -> int:
    return 0 if a == b else -1 if a < b else 1
