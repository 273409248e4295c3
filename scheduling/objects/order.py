"""Which workload is tried first, and which workloads decisions treat alike.

Source: Kueue v0.19, pkg/workload (queue order timestamp, scheduling equivalence).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from policies.amounts.devices import NO_DEVICES
from scheduling.objects.requests import DEFAULT, Counting, counts_after_reclaim
from scheduling.objects.times import MILLISECOND
from scheduling.objects.workload import (
    ADMISSION_CHECK,
    ALLOWED_FLAVORS,
    EVICTED,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    Workload,
)

_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@dataclass(frozen=True, slots=True)
class Ordering:
    """How workloads are ordered.

    by_eviction: a workload whose pods were not ready in time is ordered by its eviction (requeuingStrategy.timestamp).
    by_priority: Kueue's gate PrioritySortingWithinCohort.
    boosted: the annotation priority-boost adds to the priority (gate PriorityBoost). Workloads must be read with the
        same setting.
    """

    by_eviction: bool = True
    by_priority: bool = True
    boosted: bool = False

    def since(self, workload: Workload) -> int:
        """The timestamp of the workload in the order: its creation, or the eviction that moved it to the end."""
        evicted, preempted = workload.holding(EVICTED), workload.holding(PREEMPTED)
        to_the_end = (ADMISSION_CHECK, PODS_READY_TIMEOUT) if self.by_eviction else (ADMISSION_CHECK,)
        if evicted is not None and evicted.reason in to_the_end:
            return evicted.since
        if not self.by_priority and preempted is not None and preempted.reason == _WHILE_BORROWING:
            return preempted.since + MILLISECOND  # to sort after its preemptor
        return workload.created


def scheduling_hash(workload: Workload, counting: Counting = DEFAULT) -> str:
    """A digest that is equal for workloads which decisions treat alike, apart from age, name and queue.

    It must be computed from the adjusted workload. Only hashes with the same `counting` can be compared.
    """
    counts = counts_after_reclaim(workload, counting)
    pod_sets = [
        [
            counting.hashes_names and each.name,
            each.template.digest,
            counts[each.name],
            each.min_count,
            each.topology,
            *(each.devices if each.devices is not NO_DEVICES else ()),
        ]
        for each in workload.pod_sets
    ]
    # A slice that replaces another one takes over its quota, so it needs less than an equal workload.
    fields = (workload.priority, workload.annotations.get(ALLOWED_FLAVORS) or "", workload.replaces, pod_sets)
    return sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()[:16]
