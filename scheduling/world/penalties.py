"""Admission fair sharing: counts a workload for its LocalQueue by a penalty until its usage is sampled.

Source: Kueue v0.19, pkg/scheduler, pkg/cache/queue (AFS entry penalties); the release notes of v0.20.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from scheduling.objects.amounts import total
from scheduling.objects.requests import Counting, total_requests
from scheduling.objects.workload import Workload
from scheduling.queues.consumption import Consumption, in_units
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
    """Add the penalty of a workload that has just got quota. `ignore_undeclared`: see `Options`."""
    if not queue.settings.usage_based:
        return
    asked = total(entry.requests for entry in total_requests(workload, counting))
    counted = {
        resource: amount
        for resource, amount in asked.items()
        if not ignore_undeclared or queue.settings.group_of(resource) is not None
    }
    consumption.add_penalty(workload.local_queue, workload.key, counted)


def sampled(consumption: Consumption, queue: ClusterQueueState, local_queue: str) -> dict[str, Decimal]:
    """The usage of a LocalQueue that is sampled: of all workloads with quota, or only of the admitted ones."""
    return in_use(queue, local_queue, reserved=_anchored(consumption, queue))


def settle(consumption: Consumption, workload: Workload, queue: ClusterQueueState | None, now: int) -> None:
    """Add the penalty of a workload to the consumption once its own usage counts; never while it is inactive."""
    if queue is None or not consumption.has_penalty(workload.local_queue, workload.key):
        return
    anchored = _anchored(consumption, queue)
    if not (workload.active and workload.reserved if anchored else workload.admitted):
        return
    before = sampled(consumption, queue, workload.local_queue)
    assumed = queue.reservations.get(workload.key)
    if anchored and assumed is not None:  # its own usage only counts from now on
        for pair, amount in assumed.usage.items():
            before[pair.resource] -= in_units(pair.resource, amount)
    consumption.settle_penalty(workload.local_queue, workload.key, before, now)


def _anchored(consumption: Consumption, queue: ClusterQueueState) -> bool:
    return consumption.decay.anchored and queue.settings.usage_based


def consumed_by(consumption: Consumption, reservation: Reservation) -> Fraction | None:
    """The usage of a candidate's LocalQueue; None if its ClusterQueue does not use admission fair sharing."""
    return consumption.usage(reservation.local_queue) if reservation.queue.settings.usage_based else None
