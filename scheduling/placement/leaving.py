"""Copies that are to go: the job before the workload, so that no job is left without what stopped it."""

from __future__ import annotations

from scheduling.objects.workload import DEACTIVATION_TARGET, EVICTED, Workload
from scheduling.placement.decisions import (
    Again,
    CopyStatus,
    Decision,
    DeleteClone,
    DeleteJob,
    EvictRemote,
    Settle,
)
from scheduling.placement.group import ORIGIN_UID, Group, Worker, placed_on


def remove(worker: Worker) -> list[Decision]:
    """The next step until nothing of it is there; none where it was taken already."""
    if worker.job is not None:
        return [] if worker.job.deleting else [DeleteJob(worker.name, worker.job.running)]
    return [DeleteClone(worker.name)] if worker.workload is not None else []


def remove_all(group: Group) -> list[Decision]:
    """From every worker that can be reached; the others are looked at when they are back."""
    return [step for worker in group.reachable() for step in remove(worker)]


def leaves_here(worker: Worker, local: Workload) -> bool:
    """Whether its copy was made of another workload of the same name."""
    made_of = worker.workload.annotations.get(ORIGIN_UID) if worker.workload is not None else None
    return bool(made_of and local.uid and made_of != local.uid)


def barred(group: Group, local: Workload) -> list[Decision]:
    """It was evicted here: it stops where it runs, and the job here tells when it has."""
    told = local.conditions[EVICTED].message
    steps: list[Decision] = []
    for worker in group.reachable():
        remote = worker.workload
        if remote is None:
            continue
        if worker.admitted and not remote.holds(DEACTIVATION_TARGET):
            steps.append(EvictRemote(worker.name, f"Evicted on manager: {told}"))
        elif worker.job is not None and worker.job.news:
            steps.append(CopyStatus(worker.name))
    return steps or _settle(group, local)


def _settle(group: Group, local: Workload) -> list[Decision]:
    """Nobody will tell any more that the job has stopped: its cluster is lost, or has nothing of it."""
    job = group.job
    if job is None or job.quiet or not job.suspended or not job.managed:
        return []
    until = group.barrier(local)
    if until is not None:
        return [Again(until)] if until else []
    runs = any(_may_run(worker) for worker in group.reachable())
    return [] if runs or not placed_on(local) else [Settle()]


def _may_run(worker: Worker) -> bool:
    if worker.job is None or worker.uncertain:
        return worker.uncertain
    return not worker.job.idle or worker.admitted is not None
