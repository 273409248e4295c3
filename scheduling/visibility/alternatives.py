"""The LocalQueues of a workload's namespace where it could run, though not where it waits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scheduling.cycle.misconfigured import misconfigured
from scheduling.flavors.assigner import assign
from scheduling.flavors.modes import FlavorOutcome
from scheduling.objects.inadmissible_reasons import WAITING_FOR_QUOTA
from scheduling.objects.requests import total_requests
from scheduling.objects.workload import Workload
from scheduling.world.world import World

_MOST_TRIED = 10


def alternatives(world: World, workload: Workload, most: int) -> list[str]:
    """Their names, up to a limit: ClusterQueues behind them have flavors for it, and could ever have the quota."""
    return list(islice(_alternatives(world, workload), most))


def _alternatives(world: World, workload: Workload) -> Iterator[str]:
    there = sorted(world.queues.local_queues_in(workload.namespace), key=lambda each: each.name)
    others = (each for each in there if each.key != workload.local_queue and not each.stopped)
    ready = (each for each in others if each.cluster_queue in world.state.queues and world.is_ready(each.cluster_queue))
    complete = world.entry(workload).workload
    requests = total_requests(complete, world.counting)
    for local in islice(ready, _MOST_TRIED):
        if misconfigured(world, local.cluster_queue, complete) is None:
            queue = world.state.queues[local.cluster_queue]
            found = assign(world.state, queue, complete, requests=requests)
            if found.outcome != FlavorOutcome.NO_FIT or found.no_fit == WAITING_FOR_QUOTA:
                yield local.name
