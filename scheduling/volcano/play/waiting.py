"""Why PodGroups of Volcano wait: the queue, the resource, how much is short, and which PodGroups use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from policies.dialects.volcano_resources import limits
from scheduling.queue_tree.amounts import Shortage
from scheduling.volcano.jobs import GangJob
from scheduling.volcano.objects import Status, Task
from scheduling.volcano.play.simulation import VolcanoSimulation
from scheduling.volcano.queues import Node, QueueAccounts
from scheduling.volcano.refusal import QueueRefusal

_GATED = QueueRefusal("the pod waits behind a scheduling gate")
_MOST = 3
"""How many users of a resource are named."""


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """A reason. `pods`: how many pods of the PodGroup it refuses; 0 if it refuses the PodGroup itself."""

    refusal: QueueRefusal
    pods: int


@dataclass(frozen=True, slots=True)
class WaitingPodGroup:
    """A PodGroup with pods that wait.

    display_name: the name that users know, see `VolcanoSimulation`.
    phase: its phase; empty if the PodGroup does not exist.
    waits, pods: how many of its pods wait, and how many it has.
    """

    group: str
    display_name: str
    queue: str
    phase: str
    waits: int
    pods: int
    reasons: tuple[WaitingReason, ...]


def waiting(simulation: VolcanoSimulation) -> Iterator[WaitingPodGroup]:
    """Yield all waiting PodGroups: by queue, highest priority first. Pods whose PodGroup is missing come last."""
    world = simulation.engine.world
    for job in sorted(world.jobs.values(), key=_place):
        pending = [task for task in job.tasks.values() if task.status is Status.PENDING]
        if pending or not job.tasks:
            reasons = tuple(_reasons(simulation, job, pending))
            yield WaitingPodGroup(
                job.name,
                simulation.display_name(job.name),
                job.group.queue,
                job.group.phase,
                len(pending),
                len(job.tasks),
                reasons,
            )
    for name, task in sorted(world.tasks.items()):
        if task.group not in world.jobs and task.status is Status.PENDING:
            reason = WaitingReason(QueueRefusal(f"PodGroup {task.group} does not exist"), 0)
            yield WaitingPodGroup(task.group, f"Pod {name}", "", "", 1, 1, (reason,))


def found(simulation: VolcanoSimulation, name: str) -> list[WaitingPodGroup]:
    """The waiting PodGroup of the Job, the PodGroup or the Pod `namespace/name`; empty if it does not wait."""
    task = simulation.engine.world.tasks.get(name)
    group = task.group if task is not None else simulation.intake.job_named(name)
    missing = task is not None and task.group not in simulation.engine.world.jobs
    return [
        each
        for each in waiting(simulation)
        if group and each.group == group and (not missing or each.display_name == f"Pod {name}")
    ]


def _place(job: GangJob) -> tuple[str, int, int, str]:
    return job.group.queue, -job.group.priority, job.group.created, job.name


def _reasons(simulation: VolcanoSimulation, job: GangJob, pending: Iterable[Task]) -> Iterator[WaitingReason]:
    """Yield each reason once, with the number of pods that it refuses."""
    for refusal in simulation.refusals.get(job.name, ()):
        yield WaitingReason(refusal, 0)
    counts: dict[QueueRefusal, int] = {}
    for task in pending:
        for refusal in (_GATED,) if task.gated else _of_pod(simulation, task.name):
            counts[refusal] = counts.get(refusal, 0) + 1
    for refusal, count in counts.items():
        yield WaitingReason(refusal, count)


def _of_pod(simulation: VolcanoSimulation, name: str) -> tuple[QueueRefusal, ...]:
    coming = simulation.next.get(name)
    return (coming,) if coming is not None else simulation.refusals.get(name, ())


# --- users and limits of a resource


@dataclass(slots=True)
class Holders:
    """The PodGroups that use a resource in a queue and its descendants, the largest first. Results are cached."""

    simulation: VolcanoSimulation
    _known: dict[tuple[str, str], list[tuple[str, int]]] = field(default_factory=dict)

    def of(self, shortage: Shortage) -> list[tuple[str, int]]:
        """The PodGroups that use what is short, by their display names, with their amounts."""
        key = shortage.queue, shortage.resource
        if key not in self._known:
            self._known[key] = [*self._find(*key)]
        return self._known[key]

    def _find(self, queue: str, resource: str) -> Iterator[tuple[str, int]]:
        world = self.simulation.engine.world
        within = (job for job in world.jobs.values() if world.queues.is_within(job.group.queue, queue))
        using = [job for job in within if job.allocated.get(resource)]
        for job in sorted(using, key=lambda job: (-job.allocated[resource], job.name))[:_MOST]:
            yield self.simulation.display_name(job.name), job.allocated[resource]


def limited_by(queues: QueueAccounts, shortage: Shortage) -> str:
    """The source of the limit that is short, in words; empty if there is no limit to raise."""
    node = queues.get(shortage.queue)
    if node is not None and shortage.limit != queues.limit(node).get(shortage.resource, 0):
        return ""  # the deserved amount is short, not the limit
    return _source(queues, node, shortage.resource) if node is not None else ""


def _source(queues: QueueAccounts, node: Node, resource: str) -> str:
    limit = queues.limit(node).get(resource)
    if limit is None:
        return f"neither a Node nor queue {node.name} has any {resource}"
    if limit == queues.capability(node).get(resource, inf):
        return f"the capability of queue {_named_by(node, resource)}"
    if node.parent is None:
        return ""
    beside = node.parent.sum_below("guarantee").get(resource, 0) - node.settings.guarantee.get(resource, 0)
    if beside:
        return f"what queue {node.parent.name} has left beside what siblings of {node.name} are guaranteed"
    return _source(queues, node.parent, resource)


def _named_by(node: Node, resource: str) -> str:
    """The nearest queue whose own capability names the resource."""
    for here in node.up():
        own = here.settings.capability or {}
        if resource in own and limits(resource, own[resource]):
            return here.name
    return node.name
