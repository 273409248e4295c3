"""The running and the waiting workloads, and why the latter wait."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.objects.queue_settings import STRICT_FIFO
from scheduling.objects.workload import ADMITTED, EVICTED, Workload
from scheduling.status.checks import READY
from scheduling.visibility.explanation import Consider, Explanation, TreeCache, explain
from scheduling.visibility.places import AdmittedPodSet, admitted_pod_sets
from scheduling.world.world import World


@dataclass(frozen=True, slots=True)
class RunningWorkload:
    """A workload with quota. `checks`: the admission checks for which it still waits."""

    workload: str
    queue: str
    pod_sets: tuple[AdmittedPodSet, ...]
    admitted: bool
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitingWorkload:
    """A workload that waits.

    explanation: None for a deactivated workload.
    not_before: the end of its backoff; 0 without one.
    behind: the head of its StrictFIFO queue, which no workload may overtake; empty in other queues.
    """

    workload: str
    reason: str
    message: str
    explanation: Explanation | None = None
    not_before: int = 0
    behind: str = ""


def running(world: World) -> list[RunningWorkload]:
    """All workloads with quota, by name."""
    found = [workload for workload in world.workloads.values() if workload.counts]
    return [holding(world, workload) for workload in sorted(found, key=lambda workload: workload.key)]


def holding(world: World, workload: Workload) -> RunningWorkload:
    return RunningWorkload(
        workload.key,
        workload.admission.cluster_queue if workload.admission else "",
        admitted_pod_sets(workload, world.state.fleet),
        workload.holding(ADMITTED) is not None,
        tuple(check.name for check in workload.checks if check.state != READY),
    )


def waiting(world: World, now: int) -> list[WaitingWorkload]:
    """All waiting workloads by ClusterQueue, in queue order.

    Workloads without a ClusterQueue come first, deactivated ones last.
    """
    idle = [each for each in world.workloads.values() if not each.counts and not each.finished]
    waits = [each for each in idle if each.queueable]
    without_queue = sorted(each.key for each in waits if world.gated(each) or world.queues.queue_of(each) is None)
    found, trees = [_waiting(world, key, now) for key in without_queue], TreeCache()
    for _, queue in sorted(world.queues.pending.items()):
        entries = queue.entries()
        head = entries[0].key if entries and queue.strategy == STRICT_FIFO else ""
        found += [_waiting(world, entry.key, now, at, head, trees) for at, entry in enumerate(entries, start=1)]
    return found + [_deactivated(each) for each in sorted(idle, key=lambda each: each.key) if not each.queueable]


def waits(
    world: World,
    key: str,
    now: int,
    *,
    position: int | None = None,
    consider: Consider | None = None,
    trees: TreeCache | None = None,
) -> WaitingWorkload | None:
    """The workload with the reason why it waits; None if it does not. For the other parameters see `explain`."""
    workload = world.workloads[key]
    if workload.counts or workload.finished or key in world.assumed:
        return None
    if not workload.queueable:
        return _deactivated(workload)
    queue = None if world.gated(workload) else world.queues.pending.get(world.queues.queue_of(workload) or "")
    strict = queue is not None and queue.strategy == STRICT_FIFO
    head = queue.positions().names(0, 1)[0] if queue is not None and strict else ""
    return _waiting(world, key, now, position, head, trees, consider=consider)


def _waiting(
    world: World,
    key: str,
    now: int,
    position: int | None = None,
    head: str = "",
    trees: TreeCache | None = None,
    *,
    consider: Consider | None = None,
) -> WaitingWorkload:
    workload = world.workloads[key]
    explanation = explain(world, key, position, trees, consider=consider)
    assert explanation is not None
    later = workload.requeue.at if workload.requeue else 0
    not_before = later if later > now else 0
    evicted = workload.holding(EVICTED)
    if not_before and evicted is not None:
        return WaitingWorkload(key, evicted.reason, evicted.message, explanation, not_before)
    behind = head if head != key else ""
    return WaitingWorkload(key, explanation.reason, explanation.message, explanation, behind=behind)


def _deactivated(workload: Workload) -> WaitingWorkload:
    evicted = workload.holding(EVICTED)
    if evicted is not None:
        return WaitingWorkload(workload.key, evicted.reason, evicted.message)
    return WaitingWorkload(workload.key, "Deactivated", "The workload is deactivated")
