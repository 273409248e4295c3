"""PodGroups, pods, nodes and queues with their usage, updated by events in any order.

The cost of an event depends on the depth of the tree, not on the number of queues and PodGroups. Only after a change of
queues or nodes does the next session look at everything again.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.queue_tree.amounts import Amounts, total
from scheduling.queue_tree.parked_work import ParkedWork
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.machines import Room
from scheduling.volcano.objects import (
    NO_ACCOUNTS,
    Machine,
    PodGroup,
    PodGroupAccounts,
    Status,
    Task,
    VolcanoQueueSettings,
)
from scheduling.volcano.queues import QueueAccounts
from scheduling.volcano.refusal import NODES

_GONE = (Status.PENDING, Status.FINISHED)
"""A pod with one of these statuses takes no room on a node."""


class SessionWorld:
    """The state that sessions decide about.

    flat: the same queues without hierarchy, for the plugin `proportion`; filled only if requested.
    jobs, tasks: PodGroups and pods by name.
    parked: the PodGroups that were refused and would be refused again.
    moved: pods, queues or nodes have changed since the last session, so that other pods may become victims.
    """

    def __init__(self, *, hierarchy: bool = True, flat: bool = False) -> None:
        self.queues = QueueAccounts(hierarchy=hierarchy)
        self.flat = QueueAccounts(hierarchy=False)
        # the queues to update: `queues`, and `flat` if it is used
        self._forms = [self.queues, self.flat] if flat else [self.queues]
        self.jobs: dict[str, GangJob] = {}
        self._rooms: dict[str, Room] = {}  # nodes by name
        self._in_order = True  # whether `_rooms` is sorted
        self.tasks: dict[str, Task] = {}
        self.parked: ParkedWork[str] = ParkedWork()
        self.moved = True
        self._counted: dict[str, tuple[str, PodGroupAccounts]] = {}  # the counted queue and accounts by PodGroup
        self._in_queue: dict[str, dict[str, GangJob]] = {}  # counted PodGroups by queue
        self._members: dict[str, dict[str, Task]] = {}  # pods by PodGroup
        self._on: dict[str, dict[str, Task]] = {}  # pods by node
        self._waiting: dict[str, GangJob] = {}  # PodGroups with placeable pods
        self._claiming: dict[str, GangJob] = {}  # PodGroups whose pods claim devices
        self._misplaced: dict[str, GangJob] | None = None  # PodGroups in queues with children; None if outdated

    # --- queues and nodes

    def put_queue(self, queue: VolcanoQueueSettings) -> None:
        """Add or change a queue; its usage stays."""
        before = self.queues.get(queue.name)
        if before is not None and before.settings == queue:
            return
        for queues in self._forms:
            queues.put(queue)
        if before is None:
            self._count_in(queue.name, 1)
        self._retry_all()

    def drop_queue(self, name: str) -> None:
        """Remove the queue. Its PodGroups stay, but no session serves them. Raises KeyError if it does not exist."""
        self._count_in(name, -1)
        for queues in self._forms:
            queues.drop(name)
        self._retry_all()

    def put_machine(self, machine: Machine) -> None:
        before = self._rooms.get(machine.name)
        if before is not None and before.machine == machine:
            return
        if before is not None:
            self._resize(before.machine.allocatable, -1)
        self._resize(machine.allocatable, 1)
        room = Room(machine)
        for task in self._on.get(machine.name, {}).values():
            room.put(task)
        self._rooms[machine.name] = room
        self._in_order = self._in_order and before is not None
        self._retry_all()

    def drop_machine(self, name: str) -> None:
        """Remove the node. Its pods stay. Raises KeyError if it does not exist."""
        self._resize(self._rooms.pop(name).machine.allocatable, -1)
        self._retry_all()

    # --- work

    def put_group(self, group: PodGroup) -> None:
        job = self.jobs.get(group.name)
        if job is None:
            job = self.jobs[group.name] = GangJob(group, self._members.get(group.name, {}).values())
        elif job.group == group:
            return
        job.group = group
        self._recount(job)

    def drop_group(self, name: str) -> None:
        """Remove the PodGroup. Its pods keep their nodes, but are in no queue. Raises KeyError if it does not exist."""
        job = self.jobs.pop(name)
        self.moved = self.moved or bool(job.allocated)
        self._uncount(job, NO_ACCOUNTS)
        for index in (self._waiting, self._claiming):
            index.pop(name, None)
        self.parked.drop(name)

    def put_task(self, task: Task) -> None:
        """Add a pod or change it; it may come before its PodGroup and its node."""
        before = self.tasks.get(task.name)
        if before == task:
            return
        self.tasks[task.name] = task
        if before is not None and before.group != task.group:
            self._leave_group(before)
        self._move_pod(before, task)
        self._members.setdefault(task.group, {})[task.name] = task
        if (job := self.jobs.get(task.group)) is not None:
            job.put(task)
            self._recount(job)

    def drop_task(self, name: str) -> None:
        """Remove the task. Raises KeyError if it does not exist."""
        task = self.tasks.pop(name)
        self._move_pod(task, None)
        self._leave_group(task)

    # --- questions of sessions

    @property
    def rooms(self) -> dict[str, Room]:
        """The nodes sorted by name, the order in which they are tried."""
        if not self._in_order:
            self._rooms, self._in_order = dict(sorted(self._rooms.items())), True
        return self._rooms

    def awake(self) -> list[GangJob]:
        """The PodGroups that a session tries, by name. Afterwards none is parked until the engine parks some again."""
        if self.parked.none_parked:
            self.parked.wake_all(self.jobs)
        self.parked.none_parked = True
        return [self.jobs[name] for name in sorted(self.parked.take())]

    def waiting(self) -> Iterator[GangJob]:
        """All PodGroups with pods that may be placed, not sorted."""
        return iter([*self._waiting.values()])

    def claiming(self) -> Iterator[GangJob]:
        """All PodGroups whose pods claim devices."""
        return iter(self._claiming.values())

    def misplaced(self) -> GangJob | None:
        """The first PodGroup in a queue that has children."""
        if self._misplaced is None:
            self._misplaced = {}
            for name, jobs in self._in_queue.items():
                if self._has_children(name):
                    self._misplaced.update(jobs)
        return self._misplaced[min(self._misplaced)] if self._misplaced else None

    # --- bookkeeping

    def _resize(self, more: Amounts, times: int) -> None:
        for queues in self._forms:
            queues.resize(more, times)

    def _retry_all(self) -> None:
        """Try everything again: with queues or nodes, also limits, order and room have changed."""
        self.moved = True
        self._misplaced = None
        self.parked.none_parked = True

    def _has_children(self, queue: str) -> bool:
        node = self.queues.get(queue)
        return self.queues.hierarchy and node is not None and bool(node.children)

    def _count_in(self, queue: str, times: int) -> None:
        """Count all PodGroups of a new queue; with `times` -1, subtract those of a queue that is removed."""
        for name in self._in_queue.get(queue, ()):
            self._account(queue, self._counted[name][1], times)

    def _account(self, queue: str, accounts: PodGroupAccounts, times: int) -> None:
        for queues in self._forms:
            queues.count(queue, accounts, times)

    def _recount(self, job: GangJob) -> None:
        """Update counters and indexes after a change of the PodGroup or of one of its pods."""
        name, queue, accounts = job.name, job.group.queue, job.accounts()
        if self._counted.get(name) != (queue, accounts):
            self._uncount(job, accounts)
            self._counted[name] = (queue, accounts)
            self._in_queue.setdefault(queue, {})[name] = job
            self._account(queue, accounts, 1)
            if self._misplaced is not None and self._has_children(queue):
                self._misplaced[name] = job
        self.moved = self.moved or bool(job.allocated)
        _keep(self._waiting, job, bool(job.placeable))
        _keep(self._claiming, job, bool(job.claiming))
        self.parked.wake(name)

    def _uncount(self, job: GangJob, after: PodGroupAccounts) -> None:
        """Subtract the accounts of the PodGroup, and wake the work that waits for what this releases."""
        queue, before = self._counted.pop(job.name, (job.group.queue, NO_ACCOUNTS))
        self._account(queue, before, -1)
        jobs = self._in_queue.get(queue, {})
        jobs.pop(job.name, None)
        if not jobs:
            self._in_queue.pop(queue, None)
        if self._misplaced and self._misplaced.pop(job.name, None):
            self.parked.none_parked = True
        node = self.queues.get(queue)
        if node is not None and (queue != job.group.queue or _releases(before, after)):
            for here in node.up():
                self.parked.released(here.name)

    def _leave_group(self, task: Task) -> None:
        members = self._members[task.group]
        del members[task.name]
        if not members:
            del self._members[task.group]
        if (job := self.jobs.get(task.group)) is not None:
            job.drop(task.name)
            self._recount(job)

    def _move_pod(self, before: Task | None, after: Task | None) -> None:
        was, now = _room_of(before), _room_of(after)
        if before is not None and was:
            self._on[before.node].pop(before.name)
            if before.node in self._rooms:
                self._rooms[before.node].remove(before.name)
        if after is not None and now:
            self._on.setdefault(after.node, {})[after.name] = after
            if after.node in self._rooms:
                self._rooms[after.node].put(after)
        if was != now and was:
            self.parked.released(NODES)
        self.moved = self.moved or bool(was or now)


def _keep(index: dict[str, GangJob], job: GangJob, belongs: bool) -> None:
    if belongs:
        index[job.name] = job
    else:
        index.pop(job.name, None)


def _room_of(task: Task | None) -> tuple[object, ...]:
    """The resources that the pod uses, by node; empty if it uses none."""
    if task is None or not task.node or task.status in _GONE:
        return ()
    return task.node, task.request, task.status is Status.RELEASING, task.status is Status.PIPELINED


def _releases(before: PodGroupAccounts, after: PodGroupAccounts) -> bool:
    """Whether less of some resource is allocated or reserved than before."""
    return _is_less(after.allocated, before.allocated) or _is_less(_reserved(after), _reserved(before))


def _reserved(accounts: PodGroupAccounts) -> Amounts:
    reserved = total(accounts.allocated, accounts.inqueue)
    return {r: amount - accounts.elastic.get(r, 0) for r, amount in reserved.items()}


def _is_less(after: Amounts, before: Amounts) -> bool:
    return any(after.get(r, 0) < amount for r, amount in before.items())
