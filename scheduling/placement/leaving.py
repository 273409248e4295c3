"""Removes copies: the job before its workload, so that no job is left without its workload."""

from __future__ import annotations

from scheduling.objects.workload import DEACTIVATED, DEACTIVATION_TARGET, EVICTED, Workload
from scheduling.placement.decisions import (
    Again,
    CopyStatus,
    Decision,
    DeleteClone,
    DeleteJob,
    EvictRemote,
    ReportStopped,
)
from scheduling.placement.group import ORIGIN_UID, Group, WorkerCluster, placed_on


def remove(worker: WorkerCluster) -> list[Decision]:
    """The next step to remove the job and the copy; empty if a removal is in progress."""
    if worker.job is not None:
        return [] if worker.job.deleting else [DeleteJob(worker.name, worker.job.running)]
    return [DeleteClone(worker.name)] if worker.workload is not None else []


def remove_ended(group: Group, local: Workload) -> list[Decision]:
    """Remove job and copy of a finished workload from every reachable worker.

    A worker's watches are independent, so the end of the workload may be reported before that of its job. The deletion
    of a job without an end fails if the job has ended. Its status is copied as soon as its end is reported.
    """
    steps: list[Decision] = []
    for worker in group.reachable():
        job = worker.job
        if job is None or job.deleting or group.job is None or local.cluster not in ("", worker.name):
            steps += remove(worker)
        elif job.unfinished:
            steps.append(DeleteJob(worker.name, job.running, unchanged=True))
        else:
            steps += [CopyStatus(worker.name)] if job.news else remove(worker)
    return steps


def remove_all(group: Group) -> list[Decision]:
    """Remove job and copy from every reachable worker. The others follow when they are reachable again."""
    return [step for worker in group.reachable() for step in remove(worker)]


def leaves_here(worker: WorkerCluster, local: Workload) -> bool:
    """Whether its copy was made from another workload with the same name, or its job is not a copy."""
    if worker.job is not None and worker.job.foreign:
        return True
    made_of = worker.workload.annotations.get(ORIGIN_UID) if worker.workload is not None else None
    return bool(made_of and local.uid and made_of != local.uid)


def evicted_for(remote: Workload) -> str:
    """Why the worker evicts the copy; empty if it does not."""
    found = remote.holding(EVICTED)
    if found is not None:
        return found.reason
    return "" if remote.active else DEACTIVATED


def evicted(group: Group, local: Workload, kept: WorkerCluster | None = None) -> list[Decision]:
    """The steps after an eviction on the manager: evict the copies, and report in the manager's job that it has
    stopped.

    kept: a worker whose job may go on. The manager treats it as stopped.
    """
    message = local.conditions[EVICTED].message
    steps: list[Decision] = []
    for worker in group.reachable():
        remote = worker.workload
        if remote is None or worker is kept:
            continue
        if worker.admitted and not remote.holds(DEACTIVATION_TARGET):
            steps.append(EvictRemote(worker.name, f"Evicted on manager: {message}"))
        elif worker.job is not None and worker.job.news:
            steps.append(CopyStatus(worker.name))
    return steps or _report_stopped(group, local, kept)


def _report_stopped(group: Group, local: Workload, kept: WorkerCluster | None) -> list[Decision]:
    """Report that the job has stopped, if no worker will: its cluster is lost, or has no job."""
    job = group.job
    if job is None or job.quiet or not job.suspended or not job.managed:
        return []
    until = group.barrier(local)
    if until is not None:
        return [Again(until)] if until else []
    runs = any(_may_run(worker) for worker in group.reachable() if worker is not kept)
    return [] if runs or not placed_on(local) else [ReportStopped()]


def _may_run(worker: WorkerCluster) -> bool:
    if worker.job is None or worker.uncertain:
        return worker.uncertain
    return not worker.job.idle or worker.admitted is not None
