"""Entries of the queues, made of Workloads as they come; what does not change with a status is kept.

The status of a head that was tried says why it waits. So most Workloads that come differ from the last in their
conditions alone.
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
    """The entry of a workload that waits `since` this time; `before` is the one that it has, with the same `counting`.

    Templates, hash and requests follow from the entry's basis.
    """
    basis = (around, workload.pod_sets, workload.reclaimable, workload.annotations, workload.priority)
    if before is None or before.basis != basis:
        complete = adjusted(workload, around)
        return PendingEntry(complete, scheduling_hash(complete, counting), since, basis=basis)
    pod_sets = before.workload.pod_sets
    complete = workload if pod_sets == workload.pod_sets else replace(workload, pod_sets=pod_sets)
    return PendingEntry(complete, before.scheduling_hash, since, requests=before.requests, basis=basis)
