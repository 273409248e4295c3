"""A worker that is back too late: what still runs there is readmitted if the manager has quota for it, else removed.

When the worker was given up, the workload was evicted, and queued again. Once it has quota, the copy that runs already
is the first that admitted it, so its job goes on. Until the queue has tried the workload, the job is kept.

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
    """The worker that is back while the workload that was given up there is still being evicted."""
    evicted = local.holding(EVICTED)
    if evicted is None or evicted.reason != ADMISSION_CHECK or not local.active:
        return None
    return _kept(group, local, in_sync)


def ended_meanwhile(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> bool:
    """Whether the job of a worker that is back has ended there. Then it has ended here, whatever quota there is."""
    evicted = local.holding(EVICTED)
    return evicted is not None and any(
        worker.workload is not None
        and worker.workload.finished
        and worker.workload.conditions[FINISHED].reason not in (OUT_OF_SYNC, OWNER_NOT_FOUND)
        for worker in _back(group, evicted.since, in_sync)
    )


def released(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> list[Decision]:
    """The steps for a workload without quota: remove every copy but the one that may be readmitted."""
    kept = _kept(group, local, in_sync) if _undecided(local) else None
    steps = [step for worker in group.reachable() if worker is not kept for step in remove(worker)]
    if kept is not None and kept.back_since:
        steps.append(Again(kept.back_since + group.settings.worker_lost))
    return steps


def _undecided(local: Workload) -> bool:
    """Whether the queue has not tried it since its eviction, or waits for the quota of others that it preempts.

    An eviction writes its own message; the queue replaces it when it finds no quota.
    """
    evicted, quota = local.holding(EVICTED), local.conditions.get(QUOTA_RESERVED)
    if evicted is None or quota is None or not local.active:
        return False
    return quota.message == evicted.message or PENDING_PREEMPTION in quota.message


def _kept(group: Group, local: Workload, in_sync: Callable[[WorkerCluster], bool]) -> WorkerCluster | None:
    """The worker whose job may go on: it came back after the eviction, for no longer than the worker lost timeout.

    Several may be back; the one that admitted first is kept.
    """
    timeout = group.settings.worker_lost
    back = _back(group, local.conditions[EVICTED].since, in_sync)
    return admitted_first(worker for worker in back if not worker.back_since or group.now < worker.back_since + timeout)


def _back(group: Group, evicted: int, in_sync: Callable[[WorkerCluster], bool]) -> Iterator[WorkerCluster]:
    """The workers with its job that came back after the eviction. One that was there had its own part in it."""
    for worker in group.reachable():
        late = not worker.back_since or evicted < worker.back_since
        if late and worker.configured and worker.job is not None and not worker.job.deleting and in_sync(worker):
            yield worker
