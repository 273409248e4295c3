"""When a workload counts as usage of its LocalQueue, under admission fair sharing: before its usage shows, and after.

Source: Kueue v0.19, pkg/scheduler, pkg/cache/queue (AFS entry penalties).
"""

from __future__ import annotations

from fractions import Fraction

from scheduling.objects.amounts import total
from scheduling.objects.requests import Counting, total_requests
from scheduling.objects.workload import Workload
from scheduling.queues.consumption import Consumption
from scheduling.quota.state import ClusterQueueState, Reservation
from scheduling.world.usage_report import in_use


def penalise(
    consumption: Consumption,
    workload: Workload,
    queue: ClusterQueueState,
    counting: Counting,
    *,
    ignore_undeclared: bool,
) -> None:
    """It has just got quota. `ignore_undeclared`: see `Options`."""
    if not queue.settings.usage_based:
        return
    asked = total(entry.requests for entry in total_requests(workload, counting))
    counted = {
        resource: amount
        for resource, amount in asked.items()
        if not ignore_undeclared or queue.settings.group_of(resource) is not None
    }
    consumption.add_penalty(workload.local_queue, workload.key, counted)


def settle(consumption: Consumption, workload: Workload, queue: ClusterQueueState | None, now: int) -> None:
    """Where it is admitted by now, its penalty becomes part of what was consumed."""
    if workload.admitted and queue is not None:
        in_use_now = in_use(queue, workload.local_queue)
        consumption.settle_penalty(workload.local_queue, workload.key, in_use_now, now)


def consumed_by(consumption: Consumption, reservation: Reservation) -> Fraction | None:
    """What the LocalQueue of a candidate used; None if its ClusterQueue does not use admission fair sharing."""
    return consumption.usage(reservation.local_queue) if reservation.queue.settings.usage_based else None
