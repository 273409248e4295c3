"""The quota of a manager's ClusterQueue as the sum of its workers' quota, for Kueue's own table. Quotree leaves it.

Source: Kueue v0.19, gate MultiKueueManagerQuotaAutomation (off by default), KEP-9988.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from scheduling.objects.amounts import plus
from scheduling.objects.queue_settings import ClusterQueueSettings

CONDITION = "MultiKueueManagerQuotaAutomation"
UNSUPPORTED = "UnsupportedConfiguration"


@dataclass(frozen=True, slots=True)
class WorkerQueues:
    """The queues of one worker: the ClusterQueue of each LocalQueue (`namespace/name`), and the ClusterQueues."""

    local_queues: Mapping[str, str]
    cluster_queues: Mapping[str, ClusterQueueSettings]


@dataclass(frozen=True, slots=True)
class Automation:
    """The condition, and the nominal quota by resource in base units; None: leave the quota as it is."""

    holds: bool
    reason: str
    message: str
    quota: Mapping[str, int] | None = None


def automation(
    queue: ClusterQueueSettings, local_queues: Collection[str], workers: Iterable[WorkerQueues] | None, *, wanted: bool
) -> Automation:
    """The automated quota of a ClusterQueue with a MultiKueue check.

    `local_queues` (`namespace/name`) are those of the ClusterQueue; the ones of the same name on the connected
    `workers` lead to the quota there. `workers` None: the MultiKueueConfig does not exist. `wanted`: it asks for this.
    """
    if workers is None:
        return Automation(False, UNSUPPORTED, "The referenced MultiKueueConfig was not found.")
    if not wanted:
        return Automation(False, "NotRequested", "MultiKueue manager quota automation has not been requested.")
    if len(queue.groups) != 1 or len(queue.groups[0].flavors) != 1:
        message = "Quota automation requires that the manager-side ClusterQueue has exactly one ResourceFlavor"
        return Automation(False, UNSUPPORTED, message)
    total = _total(local_queues, workers)
    covered = queue.groups[0].resources
    missing = sorted(total.keys() - covered)
    if missing:
        named = " ".join(missing)
        message = f"manager-side coveredResources is missing resources configured on workers: [{named}]"
        return Automation(False, UNSUPPORTED, message)
    message = "ClusterQueue quota is automatically managed based on MultiKueue workers."
    return Automation(
        True, "QuotaAutomated", message, {resource: total.get(resource, 0) for resource in sorted(covered)}
    )


def _total(local_queues: Collection[str], workers: Iterable[WorkerQueues]) -> dict[str, int]:
    total: dict[str, int] = {}
    for worker in workers:
        reached = {queue for name, queue in worker.local_queues.items() if name in local_queues}
        for name in reached & worker.cluster_queues.keys():
            for pair, terms in worker.cluster_queues[name].terms.items():
                total[pair.resource] = plus(total.get(pair.resource, 0), terms.nominal)
    return total
