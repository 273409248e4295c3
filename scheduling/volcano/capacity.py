"""The plugin `capacity`: limits on every level, deserved amounts, and the order of queues.

Limits are checked from the leaf up, and the first queue that refuses decides. Source: Volcano v1.16, plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.queue_tree.amounts import total
from scheduling.volcano.devices import DeviceUse
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Task
from scheduling.volcano.plugin import QueuePlugin
from scheduling.volcano.queue_order import QueueOrder, common_depth
from scheduling.volcano.queues import ALLOCATED, ELASTIC, INQUEUE, Node, QueueAccounts
from scheduling.volcano.reclaimable import Reclaim, entitled
from scheduling.volcano.refusal import QueueRefusal, beyond
from scheduling.volcano.resources import shortages
from scheduling.volcano.world import SessionWorld


@dataclass(frozen=True, slots=True)
class CapacitySettings:
    """Arguments of the plugin.

    ancestor_reclaim_level: how many levels above the leaf reclaim compares with deserved amounts; 0: only the leaf.
    settled: nothing is reclaimed that could be reclaimed back. Volcano has no such restriction.
    devices: whether devices of ResourceClaims are counted.
    device_capacities: whether capacities of devices are limited, beside their count.
    """

    ancestor_reclaim_level: int = 0
    settled: bool = False
    devices: bool = True
    device_capacities: bool = False


DEFAULTS = CapacitySettings()


class Capacity(QueuePlugin):
    """Decides by the current usage of queues, but by the share of a parent queue at the beginning of the session."""

    lasting = True
    answers = frozenset(
        [
            "jobEnqueueable",
            "jobEnqueued",
            "allocatable",
            "preemptive",
            "reclaimable",
            "fitsAfterwards",
            "queueOrder",
            "victimQueueOrder",
        ]
    )

    def __init__(self, queues: QueueAccounts, settings: CapacitySettings = DEFAULTS) -> None:
        super().__init__(queues)
        self.settings = settings
        self.settled = settings.settled
        self.devices = DeviceUse(capacities=settings.device_capacities)
        self.halted: str | None = queues.broken()
        self._order = QueueOrder(queues)

    def open(self, world: SessionWorld) -> None:
        """Begin a session. A broken tree, or a PodGroup in a queue with children, halts all decisions."""
        self._order = QueueOrder(self.queues)
        self.halted = self.queues.broken()
        if self.halted is None and (job := world.misplaced()) is not None:
            self.halted = f"PodGroup {job.name} is in queue {job.group.queue}, which has children"
        self.devices = DeviceUse(capacities=self.settings.device_capacities)
        for job in world.claiming():
            node = self.queues.get(job.group.queue)
            for task in job.tasks.values() if node is not None else ():
                if task.status.holds_quota:
                    self.devices.add(self._levels(node), task)

    # --- permission

    def job_enqueueable(self, job: GangJob) -> QueueRefusal | None:
        """Whether the PodGroup may reserve its minimum in its queue and in all ancestors."""
        node = self._node(job)
        refusal = self._closed_reason(node)
        if refusal is not None or job.group.minimum is None:
            return refusal
        least = job.least_devices() if self.settings.devices else {}
        for here in self._levels(node):
            reserved = total(here.amounts(ALLOCATED), here.amounts(INQUEUE))
            used = {r: reserved.get(r, 0) - here.amounts(ELASTIC).get(r, 0) for r in job.group.minimum}
            short = tuple(shortages(here.name, used, job.group.minimum, self.queues.limit(here)))
            if short:
                return beyond("limit", short)
            short = self.devices.short_for_job(here, least) if least else ()
            if short:
                return beyond("capability of devices", short)
        return None

    def job_enqueued(self, job: GangJob) -> None:
        super().job_enqueued(job)
        node = self._node(job)
        if node is not None and self.settings.devices:
            self.devices.reserve(self._levels(node), job.least_devices())

    def allocatable(self, queue: str, task: Task) -> QueueRefusal | None:
        """Whether the pod fits into its queue and into all ancestors."""
        node = self.queues.get(queue)
        refusal = self._closed_reason(node)
        if node is None or refusal is not None:
            return refusal
        for here in self._levels(node):
            short = self.devices.short_for_task(here, task) if self.settings.devices else ()
            if short:
                return beyond("capability of devices", short)
            short = tuple(shortages(here.name, here.amounts(ALLOCATED), task.request, self.queues.limit(here)))
            if short:
                return beyond("limit", short)
        return None

    def preemptive(self, queue: str, task: Task) -> QueueRefusal | None:
        """Whether the queue may preempt for the pod.

        With the pod, the queue must stay within its own limit. It, or an ancestor up to `ancestor_reclaim_level`, must
        stay within its deserved amount of at least one resource. Limits of ancestors do not count here.
        """
        node = self.queues.get(queue)
        if self.halted is not None or node is None or not node.settings.is_open:
            return self._closed_reason(node)
        used = node.amounts(ALLOCATED)
        short = tuple(shortages(node.name, used, task.request, self.queues.limit(node)))
        if short:
            return beyond("limit", short)
        level = self.settings.ancestor_reclaim_level if self.queues.hierarchy else 0
        if entitled(self.queues, node, level, lambda here: here.amounts(ALLOCATED), task.request):
            return None
        short = tuple(shortages(node.name, used, task.request, self.queues.deserved(node)))
        return (
            beyond("deserved amount", short)
            if short
            else QueueRefusal("the pod requests no resource that the queue deserves")
        )

    def reclaimable(self, task: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that the pod may reclaim, in their order."""
        if self.halted is not None:
            return []
        reclaim = Reclaim(self.queues, self.settings.ancestor_reclaim_level, self.session, self.settings.settled)
        return reclaim.victims(task, candidates)

    def fits_afterwards(self, queue: str, task: Task) -> QueueRefusal | None:
        """Whether the reclaiming pod fits on every level after the evictions."""
        return self.allocatable(queue, task) if self.settings.settled else None

    # --- order

    def queue_order(self, a: str, b: str) -> int:
        return self._order.compare(a, b)

    def victim_queue_order(self, a: str, b: str, preemptor: str) -> int:
        """Below 0: pods of `a` are evicted first.

        The queue with the deeper common ancestor with `preemptor` comes first.
        """
        if not self.queues.hierarchy:
            return 0
        nodes, above = self.queues.tree.nodes, self._order.above
        mine = above(nodes[preemptor])
        return common_depth(above(nodes[b]), mine) - common_depth(above(nodes[a]), mine)

    # --- changes during a session

    def counts(self, node: Node, task: Task, times: int) -> None:
        self._order.counts(node)
        (self.devices.add if times > 0 else self.devices.remove)(node.up(), task)

    def _node(self, job: GangJob) -> Node | None:
        return self.queues.get(job.group.queue)

    def _levels(self, node: Node | None) -> list[Node]:
        return [] if node is None else [*node.up()]

    def _closed_reason(self, node: Node | None) -> QueueRefusal | None:
        """Why nothing may enter the queue, whatever it requests."""
        if self.halted is not None:
            return QueueRefusal(f"no queue is served: {self.halted}")
        if node is None:
            return QueueRefusal("the queue does not exist")
        if not node.settings.is_open:
            return QueueRefusal(f"queue {node.name} is {node.settings.state}")
        if self.queues.hierarchy and node.children:
            return QueueRefusal(f"queue {node.name} has children; only a leaf takes work")
        return None
