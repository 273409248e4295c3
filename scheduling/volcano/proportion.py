"""The plugin `proportion`: flat queues that share the nodes by weight.

The deserved amounts follow from all weights and requests, so they are computed once, when a session begins.
Source: Volcano v1.16, pkg/scheduler/plugins/proportion.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts, Limits, exceeding, total
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status, Task
from scheduling.volcano.plugin import QueuePlugin
from scheduling.volcano.queues import ALLOCATED, ELASTIC, INQUEUE, QueueAccounts, share
from scheduling.volcano.refusal import QueueRefusal, beyond
from scheduling.volcano.resources import is_nothing, shortages
from scheduling.volcano.world import SessionWorld

_FINE = 1 << 20
"""The parts of a unit in which shares are computed, so that rounding loses far less than one unit."""


class Proportion(QueuePlugin):
    """Decides by shares of weight. `queues` must be without hierarchy: spec.parent and spec.deserved do not count.

    The deserved amount of a queue depends on the requests of all queues, so no refusal is `lasting`.
    """

    answers = frozenset(
        ["jobEnqueueable", "jobEnqueued", "allocatable", "overused", "preemptive", "reclaimable", "queueOrder"]
    )

    def __init__(self, queues: QueueAccounts) -> None:
        super().__init__(queues)
        self.deserved: dict[str, Amounts] = {}

    def open(self, world: SessionWorld) -> None:
        requests: dict[str, dict[str, int]] = {}
        for job in world.jobs.values():
            node = self.queues.get(job.group.queue)
            if node is not None:
                pending = (task.request for task in job.tasks.values() if task.status is Status.PENDING)
                add_to(requests.setdefault(node.name, {}), total(job.allocated, *pending))
        self.deserved = divided(self.queues, requests)

    def job_enqueueable(self, job: GangJob) -> QueueRefusal | None:
        node = self.queues.get(job.group.queue)
        if node is None or not node.settings.is_open:
            return self._closed_refusal(job.group.queue)
        minimum = job.group.minimum
        if minimum is None:
            return None
        used = total(node.amounts(ALLOCATED), node.amounts(INQUEUE))
        add_to(used, node.amounts(ELASTIC), -1)
        short = tuple(shortages(node.name, used, minimum, self.queues.limit(node)))
        return beyond("limit", short) if short else None

    def overused(self, queue: str) -> QueueRefusal | None:
        """A queue is overused once it has its deserved amount of every resource."""
        deserved, used = self.deserved.get(queue, {}), self._used(queue)
        if all(amount <= used.get(resource, 0) for resource, amount in deserved.items()):
            return QueueRefusal(f"queue {queue} has all that it deserves")
        return None

    def allocatable(self, queue: str, task: Task) -> QueueRefusal | None:
        return self.preemptive(queue, task)

    def preemptive(self, queue: str, task: Task) -> QueueRefusal | None:
        node = self.queues.get(queue)
        if node is None or not node.settings.is_open:
            return self._closed_refusal(queue)
        short = tuple(shortages(queue, self._used(queue), task.request, self.deserved.get(queue, {})))
        return beyond("deserved amount", short) if short else None

    def reclaimable(self, _task: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates in queues that use more than they deserve of some resource, until they no longer do."""
        left: dict[str, dict[str, int]] = {}
        victims = []
        for candidate in candidates:
            queue = self.session.queue_of(candidate)
            used = left.setdefault(queue, dict(self._used(queue)))
            deserved = self.deserved.get(queue, {})
            if any(amount > deserved.get(r, 0) for r, amount in used.items()):
                add_to(used, candidate.request, -1)
                victims.append(candidate)
        return victims

    def queue_order(self, a: str, b: str) -> int:
        left, right = self.queues.tree.nodes[a].settings, self.queues.tree.nodes[b].settings
        if left.priority != right.priority:
            return right.priority - left.priority
        shares = [self._share(a), self._share(b)]
        return 0 if shares[0] == shares[1] else -1 if shares[0] < shares[1] else 1

    def _used(self, queue: str) -> Amounts:
        node = self.queues.get(queue)
        return {} if node is None else node.amounts(ALLOCATED)

    def _share(self, queue: str) -> float:
        deserved = self.deserved.get(queue, {})
        return 0 if is_nothing(deserved) else share(deserved, self._used(queue))

    def _closed_refusal(self, queue: str) -> QueueRefusal:
        node = self.queues.get(queue)
        return QueueRefusal("the queue does not exist" if node is None else f"queue {queue} is {node.settings.state}")


def divided(queues: QueueAccounts, requests: dict[str, dict[str, int]]) -> dict[str, Amounts]:
    """The deserved amounts of each queue with work: its weighted part of the nodes, at most its requests and its limit.

    What one queue does not need is divided again among the others, until nothing is left or nothing changes.
    """
    remaining = {r: amount * _FINE for r, amount in queues.total.items()}
    shares: dict[str, dict[str, int]] = {name: {} for name in sorted(requests)}
    unmet = set(shares)
    while unmet and any(amount >= _FINE // 10 for amount in remaining.values()):
        weights = sum(queues.tree.nodes[name].settings.weight for name in unmet)
        gained: dict[str, int] = {}
        for name in [*unmet]:
            node, before = queues.tree.nodes[name], shares[name]
            more = {r: amount * node.settings.weight // weights for r, amount in remaining.items()}
            after = _cut(total(before, more), queues.limit(node), requests[name], queues.guarantee(node))
            if after == before or all(_FINE * amount <= after.get(r, 0) for r, amount in requests[name].items()):
                unmet.discard(name)
            shares[name] = after
            add_to(gained, after)
            add_to(gained, before, -1)
        remaining = exceeding(remaining, gained)  # guarantees may exceed the nodes
        if not gained:
            break
    half = _FINE // 2  # to the nearest unit: many small parts add up to hardly less than a whole one
    return {name: {r: (amount + half) // _FINE for r, amount in found.items()} for name, found in shares.items()}


def _cut(amounts: Amounts, limit: Limits, request: Amounts, guarantee: Amounts) -> dict[str, int]:
    """The amounts, limited to the limit and the request, and raised to the guarantee."""
    most = {r: min(limit.get(r, inf), request.get(r, 0)) * _FINE for r in {**amounts, **guarantee}}
    return {
        r: amount for r in most if (amount := max(int(min(amounts.get(r, 0), most[r])), guarantee.get(r, 0) * _FINE))
    }
