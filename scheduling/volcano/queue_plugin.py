"""The base of capacity and proportion: it counts the usage of queues during a session."""

from __future__ import annotations

from scheduling.queue_tree.amounts import Amounts
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Task
from scheduling.volcano.plugin import Plugin
from scheduling.volcano.queues import ALLOCATED, INQUEUE, Node, QueueAccounts


class QueuePlugin(Plugin):
    """Counts pods and reserved minimums in their queues. The end of the session takes reserved minimums back."""

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
