"""The usage of queues in the form of their status: by flavor and resource, reserved and admitted.

Source: Kueue v0.19, pkg/cache/scheduler (Usage, LocalQueueUsage).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.queues.consumption import in_units
from scheduling.quota.state import ClusterQueueState, UsageSum

_NOTHING = UsageSum()


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """The usage of a pair. `borrowed`: the part beyond the ClusterQueue's nominal quota; 0 without a Cohort."""

    pair: FlavorResource
    total: int
    borrowed: int = 0


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """The usage of a queue, in the order of its flavors.

    reserved, reserving: the usage and the number of all workloads with quota.
    used, admitted: the usage and the number of the admitted ones.
    """

    reserved: tuple[ResourceUsage, ...]
    used: tuple[ResourceUsage, ...]
    reserving: int
    admitted: int


def queue_usage(queue: ClusterQueueState) -> QueueUsage:
    usage = queue.usage
    return QueueUsage(_of_queue(queue, queue.node.usage), _of_queue(queue, usage.used), usage.reserving, usage.admitted)


def local_queue_usage(queue: ClusterQueueState, namespace: str, name: str) -> QueueUsage:
    """The usage of a LocalQueue, in the flavors of its ClusterQueue."""
    usage = queue.usage_by_local_queue.get(f"{namespace}/{name}", _NOTHING)
    return QueueUsage(_listed(queue, usage.reserved), _listed(queue, usage.used), usage.reserving, usage.admitted)


def in_use(queue: ClusterQueueState, local_queue: str, *, reserved: bool = False) -> dict[str, Decimal]:
    """The usage of a LocalQueue (`namespace/name`) by admitted workloads, by resource, in cores or whole units.

    It has every resource of the ClusterQueue, even if the usage is 0. reserved: count all workloads with quota.
    """
    usage = queue.usage_by_local_queue.get(local_queue, _NOTHING)
    found = {pair.resource: Decimal(0) for pair in queue.settings.terms}
    for pair, amount in (usage.reserved if reserved else usage.used).items():
        found[pair.resource] = found.get(pair.resource, Decimal(0)) + in_units(pair.resource, amount)
    return found


def _of_queue(queue: ClusterQueueState, usage: Usage) -> tuple[ResourceUsage, ...]:
    return tuple(
        ResourceUsage(entry.pair, entry.total, _borrowed(queue, entry.pair, entry.total))
        for entry in _listed(queue, usage)
    )


def _borrowed(queue: ClusterQueueState, pair: FlavorResource, total: int) -> int:
    return max(0, total - queue.node.nominal(pair)) if queue.node.parent is not None else 0


def _listed(queue: ClusterQueueState, usage: Usage) -> tuple[ResourceUsage, ...]:
    return tuple(ResourceUsage(pair, usage.get(pair, 0)) for pair in queue.settings.terms)
