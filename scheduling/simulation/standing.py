"""How things stand in a simulation: who runs, who waits and why, and what is in use where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduling.cycle.explanation import Explanation, Seen, explain
from scheduling.objects.amounts import FlavorResource, plus
from scheduling.objects.queue_settings import STRICT_FIFO
from scheduling.objects.workload import ADMITTED, EVICTED, Workload
from scheduling.quota.node import QuotaNode
from scheduling.simulation.happening import Placed
from scheduling.simulation.simulation import Simulation, placed


@dataclass(frozen=True, slots=True)
class Running:
    """A workload that holds quota. `checks` are those that are not Ready, for which it is not admitted yet."""

    workload: str
    queue: str
    placed: tuple[Placed, ...]
    admitted: bool
    since: int
    checks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Waiting:
    """`not_before` is the end of its backoff, 0 where it has none. `explanation` is None of one that is deactivated.

    `behind` is the head of its ClusterQueue where nobody passes that (StrictFIFO), else empty.
    """

    workload: str
    reason: str
    message: str
    explanation: Explanation | None = None
    not_before: int = 0
    behind: str = ""


@dataclass(frozen=True, slots=True)
class InUse:
    """What the subtree of a node uses of a pair, and what of that comes from outside of it."""

    used: int
    borrowed: int


def running(simulation: Simulation) -> list[Running]:
    """In the order of their names."""
    found = [workload for workload in simulation.world.workloads.values() if workload.counts]
    return [_running(workload) for workload in sorted(found, key=lambda workload: workload.key)]


def _running(workload: Workload) -> Running:
    admitted = workload.holding(ADMITTED)
    return Running(
        workload.key,
        workload.admission.cluster_queue if workload.admission else "",
        placed(workload),
        admitted is not None,
        admitted.since if admitted else 0,
        tuple(check.name for check in workload.checks if check.state != "Ready"),
    )


def waiting(simulation: Simulation) -> list[Waiting]:
    """ClusterQueue by ClusterQueue in the order of the queue; first those that wait at none, last those deactivated."""
    world = simulation.world
    idle = [each for each in world.workloads.values() if not each.counts and not each.finished]
    waits = [each for each in idle if each.queueable]
    homeless = sorted(each.key for each in waits if world.queues.queue_of(each) is None)
    told, seen = [_waiting(simulation, key) for key in homeless], Seen()
    for _, queue in sorted(world.queues.pending.items()):
        entries = queue.entries()
        head = entries[0].key if entries and queue.strategy == STRICT_FIFO else ""
        told += [_waiting(simulation, entry.key, at, head, seen) for at, entry in enumerate(entries, start=1)]
    return told + [_deactivated(each) for each in sorted(idle, key=lambda each: each.key) if not each.queueable]


def waits(simulation: Simulation, key: str) -> Waiting | None:
    """Why this one waits; None where it does not."""
    workload = simulation.world.workloads[key]
    if workload.counts or workload.finished:
        return None
    if not workload.queueable:
        return _deactivated(workload)
    queue = simulation.world.queues.pending.get(simulation.world.queues.queue_of(workload) or "")
    strict = queue is not None and queue.strategy == STRICT_FIFO
    return _waiting(simulation, key, None, queue.entries()[0].key if queue is not None and strict else "")


def _waiting(
    simulation: Simulation, key: str, position: int | None = None, head: str = "", seen: Seen | None = None
) -> Waiting:
    workload = simulation.world.workloads[key]
    explanation = explain(simulation.world, key, position, seen)
    assert explanation is not None
    later = workload.requeue.at if workload.requeue else 0
    not_before = later if later > simulation.now else 0
    evicted = workload.holding(EVICTED)
    if not_before and evicted is not None:
        return Waiting(key, evicted.reason, evicted.message, explanation, not_before)
    behind = head if head != key else ""
    return Waiting(key, explanation.reason, explanation.message, explanation, behind=behind)


def _deactivated(workload: Workload) -> Waiting:
    evicted = workload.holding(EVICTED)
    if evicted is not None:
        return Waiting(workload.key, evicted.reason, evicted.message)
    return Waiting(workload.key, "Deactivated", "The workload is deactivated")


def in_use(simulation: Simulation) -> tuple[dict[str, dict[FlavorResource, InUse]], ...]:
    """(by ClusterQueue, by Cohort): what is in use of each pair. Of Cohorts on or below a cycle nothing is told."""
    tree = simulation.world.state.tree
    queues: dict[str, dict[FlavorResource, InUse]] = {}
    sums: dict[QuotaNode, dict[FlavorResource, int]] = {}
    for name, node in tree.queues.items():
        queues[name] = _of(node, node.usage)
        for cohort in node.path()[1:]:
            total = sums.setdefault(cohort, {})
            for pair, amount in node.usage.items():
                total[pair] = plus(total.get(pair, 0), amount)
    return queues, {cohort.name: _of(cohort, total) for cohort, total in sums.items() if not cohort.on_cycle}


def _of(node: QuotaNode, used: Mapping[FlavorResource, int]) -> dict[FlavorResource, InUse]:
    return {
        pair: InUse(amount, max(0, node.used(pair) - node.quota(pair)) if node.up is not None else 0)
        for pair, amount in used.items()
        if amount
    }
