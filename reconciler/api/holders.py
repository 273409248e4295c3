"""The workloads with quota in a ClusterQueue. The one with the largest share comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reconciler.api.tree import API_VERSION
from scheduling.flavors.messages import amount_text
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.times import rfc3339
from scheduling.objects.workload import QUOTA_RESERVED
from scheduling.quota.state import Reservation
from scheduling.visibility.as_json import pair_json
from scheduling.world.world import World


class HeldQuota(NamedTuple):
    """The nominalQuota of a ClusterQueue, and its reservations. Both are copies, so other threads may read them."""

    quota: Mapping[FlavorResource, int]
    reservations: list[Reservation]


def held_quota(world: World, queue: str) -> HeldQuota:
    """Copy the quota and the reservations of a ClusterQueue. Raises KeyError if it does not exist."""
    found = world.state.queues[queue]
    return HeldQuota({pair: found.node.nominal(pair) for pair in found.node.terms}, [*found.reservations.values()])


def holders_json(queue: str, held: HeldQuota, offset: int, limit: int) -> dict[str, Any]:
    holders = sorted(held.reservations, key=lambda each: (-_largest_share(held.quota, each), each.key))
    return {
        "apiVersion": API_VERSION,
        "kind": "QuotaHolders",
        "clusterQueue": queue,
        "workloads": len(holders),
        "items": [_item(each) for each in holders[offset : offset + limit]],
    }


def _largest_share(quota: Mapping[FlavorResource, int], held: Reservation) -> float:
    """The largest fraction of the queue's own quota over all pairs. A pair without own quota counts as if it had 1."""
    return max((each / max(1, quota.get(pair, 0)) for pair, each in held.usage.items()), default=0.0)


def _item(held: Reservation) -> dict[str, Any]:
    workload = held.workload
    reserved = workload.conditions.get(QUOTA_RESERVED)
    owners = [{"kind": each.kind, "name": each.name} for each in workload.owners]
    return {
        "metadata": {"name": workload.name, "namespace": workload.namespace, "ownerReferences": owners},
        "localQueueName": workload.queue,
        "priority": workload.priority,
        "admitted": workload.admitted,
        "since": rfc3339(reserved.since) if reserved is not None else None,
        "usage": [
            {**pair_json(pair), "amount": amount_text(pair.resource, each)}
            for pair, each in sorted(held.usage.items())
            if each
        ],
    }
