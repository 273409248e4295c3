"""Who uses how much, the way a status shows it: per flavor and resource, reserved and admitted.

Source: Kueue v0.19, pkg/cache/scheduler (Usage, LocalQueueUsage).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.amounts import FlavorResource, Usage, plus
from scheduling.state import Queue, Reservation


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """`borrowed` is what is above the ClusterQueue's nominal quota; 0 where it has no Cohort."""

    pair: FlavorResource
    total: int
    borrowed: int = 0


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """`reserved` is of all that hold quota, `used` of those admitted. In the order of the ClusterQueue's flavors."""

    reserved: tuple[ResourceUsage, ...]
    used: tuple[ResourceUsage, ...]
    reserving: int
    admitted: int


def queue_usage(queue: Queue) -> QueueUsage:
    """Of a ClusterQueue."""
    admitted = [held for held in queue.reservations.values() if held.workload.admitted]
    return QueueUsage(
        _of_queue(queue, queue.node.usage),
        _of_queue(queue, _sum(admitted)),
        len(queue.reservations),
        len(admitted),
    )


def local_queue_usage(queue: Queue, namespace: str, name: str) -> QueueUsage:
    """Of a LocalQueue, in the flavors of its ClusterQueue."""
    mine = [
        held
        for held in queue.reservations.values()
        if (held.workload.namespace, held.workload.queue) == (namespace, name)
    ]
    admitted = [held for held in mine if held.workload.admitted]
    return QueueUsage(_listed(queue, _sum(mine)), _listed(queue, _sum(admitted)), len(mine), len(admitted))


def _of_queue(queue: Queue, usage: Usage) -> tuple[ResourceUsage, ...]:
    return tuple(
        ResourceUsage(entry.pair, entry.total, _borrowed(queue, entry.pair, entry.total))
        for entry in _listed(queue, usage)
    )


def _borrowed(queue: Queue, pair: FlavorResource, total: int) -> int:
    return max(0, total - queue.node.nominal(pair)) if queue.node.parent is not None else 0


def _listed(queue: Queue, usage: Usage) -> tuple[ResourceUsage, ...]:
    return tuple(ResourceUsage(pair, usage.get(pair, 0)) for pair in queue.settings.terms)


def _sum(reservations: Iterable[Reservation]) -> dict[FlavorResource, int]:
    total: dict[FlavorResource, int] = {}
    for held in reservations:
        for pair, amount in held.usage.items():
            total[pair] = plus(total.get(pair, 0), amount)
    return total
