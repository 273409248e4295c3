"""Finds pending workloads that may fit. The check is cheap: it finds all that fit, and some that do not."""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.objects.requests import total_requests
from scheduling.objects.workload import Workload
from scheduling.quota.node import QuotaNode
from scheduling.world.world import World


def may_fit(world: World) -> Iterator[Workload]:
    """Yield the pending workloads that may fit into the free quota, not sorted."""
    for name, pending in world.queues.pending.items():
        queue = world.state.queues[name]
        room = _room(queue.node)
        for entry in pending.entries():
            wanted = _least(world, entry.workload)
            replaced = world.slices.predecessor(entry.workload, queue)
            for pair, amount in replaced.usage.items() if replaced is not None else ():
                wanted[pair.resource] = wanted.get(pair.resource, 0) - amount
            if all(room.get(resource, amount) >= amount for resource, amount in wanted.items()):
                yield world.workloads[entry.key]


def _room(node: QuotaNode) -> dict[str, int]:
    """The free amount of each resource over all flavors. Resources without quota are left out."""
    free: dict[str, int] = {}
    for pair in node.terms:
        free[pair.resource] = free.get(pair.resource, 0) + node.free(pair)
    return free


def _least(world: World, workload: Workload) -> dict[str, int]:
    """The requests of the workload with the fewest pods that partial admission allows, by resource."""
    fewest = {pod_set.name: pod_set.min_count for pod_set in workload.pod_sets}
    sums: dict[str, int] = {}
    for asked in total_requests(workload, world.counting):
        few = fewest.get(asked.name)
        for resource, amount in asked.requests.items():
            least = amount if few is None or not asked.count else amount * min(few, asked.count) // asked.count
            sums[resource] = sums.get(resource, 0) + least
    return sums
