"""What LocalQueues used lately, under admission fair sharing: sampled in time, kept in their status, read back.

After a restart the stored status is where it goes on, so at most one sample is taken later than it would have been.
Source: Kueue v0.19, pkg/controller/core/localqueue_controller.go; KEP-4136.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from policies.dialects.reading import mapping
from policies.model.quantity import BadQuantity, Quantity
from scheduling.objects import times
from scheduling.world.usage_report import in_use
from scheduling.world.world import World

_NANO = 10**9


def remember(world: World, key: str, status: Mapping[str, Any]) -> None:
    """Take in the usage in the status of a LocalQueue (`namespace/name`), unless more recent usage is known."""
    share = mapping(mapping(status.get("fairSharing")).get("admissionFairSharingStatus"))
    at = times.parse(share.get("lastUpdate"))
    known = world.consumption.record(key) if world.consumption is not None else None
    if world.consumption is not None and at and (known is None or known.at < at):
        world.consumption.put(key, _read(mapping(share.get("consumedResources"))), at)


def sample(world: World, key: str, now: int) -> int | None:
    """Take a sample where one is due. How long until the next one, in nanoseconds; None where usage is not followed."""
    if world.consumption is None or key not in world.queues.local_queues:
        return None
    left = world.consumption.next_sample(key, now)
    if not left:
        queue = world.state.queues.get(world.queues.local_queues[key].cluster_queue)
        world.consumption.sample(key, in_use(queue, key) if queue is not None else {}, now)
        world.touched.pending(key)
        left = world.consumption.next_sample(key, now)
    return left


def admission_share(world: World, key: str) -> dict[str, Any] | None:
    """status.fairSharing of a LocalQueue; None before its first sample. A LocalQueue has no share of a Cohort: 0."""
    record = world.consumption.record(key) if world.consumption is not None else None
    if record is None:
        return None
    consumed = {resource: _written(amount) for resource, amount in record.consumed.items()}
    share = {"consumedResources": consumed, "lastUpdate": times.written(record.at)}
    return {"weightedShare": 0, "admissionFairSharingStatus": share}


def _written(amount: Decimal) -> str:
    return str(Quantity.of_nano(int(amount * _NANO)))


def _read(values: Mapping[str, Any]) -> dict[str, Decimal]:
    """What is no quantity counts as nothing: the next sample puts it right."""
    found = {}
    for resource, value in values.items():
        try:
            found[resource] = Decimal(Quantity.parse(value).nano) / _NANO
        except BadQuantity:
            found[resource] = Decimal(0)
    return found
