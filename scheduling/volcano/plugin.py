"""The decisions in which a plugin of Volcano's scheduler may take part.

A plugin lists in `answers` the questions that it answers. The configuration switches each of them on or off. A plugin
refuses with a QueueRefusal, and agrees with None. Source: Volcano v1.16, pkg/scheduler/framework/session_plugins.go.
"""

# ruff: noqa: ARG002, plugins override what they answer, and name the arguments as here

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from scheduling.queue_tree.amounts import Amounts
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.machines import Room
from scheduling.volcano.objects import Task
from scheduling.volcano.queues import ALLOCATED, INQUEUE, Node, QueueAccounts
from scheduling.volcano.refusal import QueueRefusal
from scheduling.volcano.world import SessionWorld

SWITCHES = {"jobEnqueueable": "jobEnqueued"}
"""Questions that are switched by the name of another question."""
ALWAYS = ("jobValid", "victimQueueOrder", "fitsAfterwards")
"""Questions that no configuration switches off."""


class Jobs(Protocol):
    """Finds the PodGroup and the queue of a pod."""

    def job_of(self, task: Task) -> GangJob: ...

    def queue_of(self, task: Task) -> str: ...


class Plugin:
    """The base of all plugins. It agrees to everything.

    Events reach every plugin.

    answers: the questions that the plugin answers; it is not asked others.
    lasting: whether a refusal stays valid until the PodGroup changes, or until the short amount is released.
    settled: whether its victims are chosen so that reclaim ends, and queues do not reclaim in turns.
    """

    answers: frozenset[str] = frozenset()
    lasting = False
    settled = False
    session: Jobs

    def open(self, world: SessionWorld) -> None:
        """A session begins. The usage of the queues is counted already."""

    def close(self) -> None:
        """The session ends, and its changes have been undone."""

    def job_valid(self, job: GangJob) -> QueueRefusal | None:
        return None

    def job_enqueueable(self, job: GangJob) -> QueueRefusal | None:
        return None

    def job_enqueued(self, job: GangJob) -> None:
        """The PodGroup has entered its queue."""

    def job_starving(self, job: GangJob) -> bool:
        return True

    def job_ready(self, job: GangJob) -> bool:
        return True

    def job_pipelined(self, job: GangJob) -> bool:
        return True

    def overused(self, queue: str) -> QueueRefusal | None:
        return None

    def allocatable(self, queue: str, task: Task) -> QueueRefusal | None:
        return None

    def preemptive(self, queue: str, task: Task) -> QueueRefusal | None:
        return None

    def fits_afterwards(self, queue: str, task: Task) -> QueueRefusal | None:
        return None

    def predicate(self, task: Task, room: Room) -> QueueRefusal | None:
        return None

    def node_order(self, task: Task, room: Room) -> float:
        """How much the plugin prefers this node for the pod."""
        return 0.0

    def reclaimable(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        return list(candidates)

    def preemptable(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        return list(candidates)

    def queue_order(self, a: str, b: str) -> int:
        return 0

    def victim_queue_order(self, a: str, b: str, preemptor: str) -> int:
        return 0

    def job_order(self, a: GangJob, b: GangJob) -> int:
        return 0

    def task_order(self, a: Task, b: Task) -> int:
        return 0

    def allocated(self, task: Task) -> None:
        """The pod has a node, or waits for one."""

    def deallocated(self, task: Task) -> None:
        """The pod will leave its node, or does not wait for it any more."""


class QueuePlugin(Plugin):
    """The base of capacity and proportion. It counts pods and reserved minimums in their queues.

    The end of the session takes reserved minimums back.
    """

    def __init__(self, queues: QueueAccounts) -> None:
        self.queues = queues
        self._reserved: list[tuple[Node, Amounts]] = []

    def close(self) -> None:
        for node, amounts in self._reserved:
            node.add(INQUEUE, amounts, -1)
        self._reserved.clear()

    def job_enqueued(self, job: GangJob) -> None:
        node = self.queues.get(job.group.queue)
        if node is not None and job.group.minimum is not None:
            amounts = job.without_gated(job.group.minimum)
            node.add(INQUEUE, amounts)
            self._reserved.append((node, amounts))

    def allocated(self, task: Task) -> None:
        self._count(task, 1)

    def deallocated(self, task: Task) -> None:
        self._count(task, -1)

    def _count(self, task: Task, times: int) -> None:
        node = self.queues.get(self.session.queue_of(task))
        if node is not None:
            self.counts(node, task, times)
            node.add(ALLOCATED, task.request, times)

    def counts(self, node: Node, task: Task, times: int) -> None:
        """Called before the Pod is counted in this queue, or with `times` -1 before it is taken out."""
