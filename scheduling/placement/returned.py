"""A worker that is reachable again after it was given up: its job is readmitted if there is quota, else removed.

When the worker was given up, the workload was evicted and queued again. If it gets quota, the copy that is still
running was admitted first, so its job goes on. The job is kept until the queue has tried the workload.

Source: KEP-693, Design Details.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scheduling.objects.inadmissible_reasons import PENDING_PREEMPTION
from scheduling.objects.workload import (
    ADMISSION_CHECK,
    EVICTED,
    FINISHED,
    OUT_OF_SYNC,
    OWNER_NOT_FOUND,
    QUOTA_RESERVED,
    Workload,
)
from scheduling.placement.decisions import Again, Decision
from scheduling.placement.first import admitted_first
from scheduling.placement.group import Group, WorkerCluster
from scheduling.placement.leaving import remove


def returned_worker(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> WorkerCluster | None:
    """The worker that is reachable again while the workload is still being evicted; None if there is none."""
    evicted = local.holding(EVICTED)
    if evicted is None or evicted.reason != ADMISSION_CHECK or not local.active:
        return None
    return _kept(group, local, in_sync)


def ended_meanwhile(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> bool:
    """Whether the job has ended on a worker that is reachable again.

    Then the workload is finished, even without quota.
    """
    evicted = local.holding(EVICTED)
    return evicted is not None and any(
        worker.workload is not None
        and worker.workload.finished
        and worker.workload.conditions[FINISHED].reason not in (OUT_OF_SYNC, OWNER_NOT_FOUND)
        for worker in _back(group, evicted.since, in_sync)
    )


def released(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> list[Decision]:
    """The steps for a workload without quota: remove all copies except for the one that may be readmitted."""
    kept = _kept(group, local, in_sync) if _undecided(local) else None
    steps = [step for worker in group.reachable() if worker is not kept for step in remove(worker)]
    if kept is not None and kept.back_since:
        steps.append(Again(kept.back_since + group.settings.worker_lost))
    return steps


def _undecided(local: Workload) -> bool:
    """Whether the queue has not tried the workload since its eviction, or it waits for its victims.

    An eviction writes its message into the condition. The scheduler replaces it when it finds no quota.
    """
    evicted, quota = local.holding(EVICTED), local.conditions.get(QUOTA_RESERVED)
    if evicted is None or quota is None or not local.active:
        return False
    return quota.message == evicted.message or PENDING_PREEMPTION in quota.message


def _kept(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> WorkerCluster | None:
    """The worker whose job may go on: it became reachable after the eviction, and less than the worker lost timeout
    ago.

    Of several workers, it is the one that admitted first.
    """
    timeout = group.settings.worker_lost
    back = _back(group, local.conditions[EVICTED].since, in_sync)
    return admitted_first(worker for worker in back if not worker.back_since or group.now < worker.back_since + timeout)


def _back(group: Group, evicted: int, in_sync: Callable[[WorkerCluster], bool]) -> Iterator[WorkerCluster]:
    """Yield the workers with the job that became reachable after the eviction.

    A worker that was reachable before was evicted like any other.
    """
    for worker in group.reachable():
        late = not worker.back_since or evicted < worker.back_since
        if late and worker.configured and worker.job is not None and not worker.job.deleting and in_sync(worker):
            yield worker
