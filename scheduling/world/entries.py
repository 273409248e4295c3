"""Makes queue entries from Workloads. Results that do not depend on the status are kept.

After an attempt, the status has the reason for waiting. So most updates of a Workload only change its conditions.
"""

from __future__ import annotations

from policies.mutation.pod_defaults import Surroundings
from scheduling.objects.admissibility import adjusted
from scheduling.objects.copying import replace
from scheduling.objects.order import scheduling_hash
from scheduling.objects.requests import Counting
from scheduling.objects.workload import Workload
from scheduling.queues.entry import PendingEntry


def entry_of(
    workload: Workload, since: int, around: Surroundings, counting: Counting, before: PendingEntry | None
) -> PendingEntry:
    """The queue entry of a workload.

    since: its timestamp in the queue.
    before: its current entry, with the same `counting`. If its basis is equal, templates, hash and requests are kept.
    """
    basis = (around, workload.pod_sets, workload.reclaimable, workload.annotations, workload.priority)
    if before is None or before.basis != basis:
        complete = adjusted(workload, around)
        return PendingEntry(complete, scheduling_hash(complete, counting), since, basis=basis)
    pod_sets = before.workload.pod_sets
    complete = workload if pod_sets == workload.pod_sets else replace(workload, pod_sets=pod_sets)
    return PendingEntry(complete, before.scheduling_hash, since, requests=before.requests, basis=basis)
