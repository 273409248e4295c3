"""MultiKueue's placement: the next steps for a workload over all worker clusters, from the current state.

The caller may carry out all returned steps at once, and calls again after any write or change. A crash, a lost response
or a network partition between two writes never loses a job or runs it twice, because:

- Only one job is created: on the cluster that the manager's workload names, and only after the copy on it is admitted.
  The name is written after the jobs on all other reachable workers are deleted, and before the job is created. The
  copies on other workers are deleted before the job is created, too.
- The condition `group.PLACED_ON` keeps the name of that cluster through an eviction, until the cluster is known to have
  no job, or was unreachable for the worker lost timeout.
- The check becomes Ready only after the job was observed. So a job that is missing later was deleted on the worker.

Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue (order and messages); KEP-693.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from scheduling.objects.times import SECOND
from scheduling.objects.workload import FINISHED, OUT_OF_SYNC, OWNER_NOT_FOUND, Workload
from scheduling.placement.decisions import (
    Again,
    ClearClusterName,
    CopyStatus,
    CreateJob,
    Decision,
    Finish,
    Nominate,
    NotePlaces,
    SetCheck,
    SetClusterName,
    TrimJob,
    UpdateClone,
    UpdateJob,
)
from scheduling.placement.dispatch import dispatch
from scheduling.placement.first import admitted_first
from scheduling.placement.gates import open_gates
from scheduling.placement.group import Group, RemoteJob, WorkerCluster, placed_on
from scheduling.placement.leaving import evicted, evicted_for, leaves_here, remove, remove_all, remove_ended
from scheduling.placement.returned import ended_meanwhile, released, returned_worker
from scheduling.status.checks import PENDING, READY, REJECTED, RETRY
from scheduling.status.reservation import waits_for_topology

_END_REPORTED_WITHIN = 10 * SECOND
"""How long a finished workload waits for the end of its job. The worker's watches are independent, so the end of the
workload may be reported first, and the job is deleted there once the workload is finished here."""
_GONE = "Admitting remote no longer exists"
_NO_CLUSTER = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"


def admitted_on(cluster: str) -> str:
    """The message of the check once the job exists on its cluster."""
    return f'The workload was admitted on "{cluster}"'


def place(group: Group) -> list[Decision]:
    """The next steps; empty if something else has to happen first."""
    local, check = group.local, group.check
    if local is None or local.deleting:
        return remove_all(group)
    if check is None or check.state == REJECTED:
        return remove_all(group) if local.finished or not local.reserved else []
    return _Placement(group, local).steps()


@dataclass(frozen=True)
class _Placement:
    """A workload with an active MultiKueue check."""

    group: Group
    local: Workload

    def steps(self) -> list[Decision]:
        """The decisions of the first method that does not return None; [] means to wait."""
        for step in (
            self._unfit,
            self._replaced,
            self._released,
            self._foreign,
            self._finished,
            self._evicted,
            self._without_config,
            self._evicted_there,
            self._out_of_sync,
            self._won,
            self._lost,
            self._given_up,
        ):
            found = step()
            if found is not None:
                return found
        return [*open_gates(self.group), *dispatch(self.group, self.local)]

    # --- the check

    @property
    def state(self) -> str:
        return self.group.check.state if self.group.check is not None else ""

    @property
    def started(self) -> bool:
        """Whether the job was observed on its cluster."""
        check, cluster = self.group.check, self.local.cluster
        admitted = check is not None and check.state == PENDING and check.message == admitted_on(cluster)
        return self.state == READY or (bool(cluster) and admitted)

    @cached_property
    def stays_pending(self) -> bool:
        """Whether a controller on the manager would run the job if the workload were admitted."""
        return self.group.job is not None and not self.group.job.managed

    def _set(self, state: str, message: str, event: bool = False, warning: bool = False) -> SetCheck:
        return SetCheck(state, f'{message}, Previously: "{self.state}"', event=event, warning=warning)

    def _retry(self, message: str, *, event: bool = False, warning: bool = False) -> list[Decision]:
        """Set the check to Retry, so that the workload leaves its cluster and is placed again. Empty if it is set."""
        return [self._set(RETRY, message, event, warning)] if self.state != RETRY else []

    # --- conditions of a placement

    def _unfit(self) -> list[Decision] | None:
        job = self.group.job
        if job is None:
            return [] if self.group.owned else [self._set(REJECTED, "No multikueue adapter found")]
        if not job.adapted:
            return [self._set(REJECTED, f'No multikueue adapter found for owner kind "{job.kind}"')]
        if job.managed:
            return None
        if self.state == READY and not self.local.cluster:
            return []  # it ran on the manager before its ClusterQueue got the check, so it stays
        if self.group.settings.without_managed_by == "KeepSuspended":
            return None
        wanted = f'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "{job.managed_by}"'
        return [self._set(REJECTED, f"The owner is not managed by Kueue: {wanted}")]

    def _replaced(self) -> list[Decision] | None:
        """Do nothing for a slice of an elastic job that was replaced, or that waits to replace another one."""
        if not self.group.elastic:
            return None
        finished = self.local.conditions.get(FINISHED)
        replaced = self.local.finished and finished is not None and finished.reason == "WorkloadSliceReplaced"
        grows = not self.local.finished and not self.local.reserved and self.local.replaces
        return [] if replaced or grows else None

    # --- leaving a cluster

    def _released(self) -> list[Decision] | None:
        """Remove all copies if the workload has no quota on the manager, except for one that may be readmitted."""
        if self.local.finished:
            return remove_ended(self.group, self.local)
        if self.local.reserved or ended_meanwhile(self.group, self.local, self._in_sync):
            return None
        return released(self.group, self.local, self._in_sync)

    def _in_sync(self, worker: WorkerCluster) -> bool:
        """Whether the copy was made from this workload and still requests the same."""
        remote = worker.workload
        return remote is not None and not leaves_here(worker, self.local) and not differs(self.local, remote)

    def _foreign(self) -> list[Decision] | None:
        """Remove copies of an earlier workload with the same name, and jobs that are not copies."""
        found = [worker for worker in self.group.reachable() if leaves_here(worker, self.local)]
        return [step for worker in found for step in remove(worker)] if found else None

    def _finished(self) -> list[Decision] | None:
        copies = [(w, w.workload.conditions[FINISHED]) for w in self._with(FINISHED) if w.workload is not None]
        if not copies:
            return None
        failures = (OUT_OF_SYNC, OWNER_NOT_FOUND)
        worker, finished = min(copies, key=lambda each: (each[1].reason in failures, each[1].since, each[0].name))
        left_behind = worker.name != self.local.cluster  # by an earlier placement
        if finished.reason in failures:
            if self.local.evicted:
                return None
            if left_behind:
                return remove(worker)
            what = "is out of sync with its user job" if finished.reason == OUT_OF_SYNC else "has lost its job"
            message = f'Remote workload on worker cluster "{worker.name}" {what}, resetting for re-dispatch'
            return self._retry(message, event=True, warning=True)
        if worker.job is None and (worker.rejection or worker.uncertain):
            return []
        if worker.job is None:  # only the API server knows whether another object has its name
            return remove(worker) if left_behind else [CreateJob(worker.name)]
        if worker.job.news:
            return [CopyStatus(worker.name)]
        if worker.job.unfinished and self.group.now < finished.since + _END_REPORTED_WITHIN:
            return [Again(finished.since + _END_REPORTED_WITHIN)]
        return [Finish(finished.reason, finished.message)]

    def _evicted(self) -> list[Decision] | None:
        if not self.local.evicted:
            return None
        return evicted(self.group, self.local, returned_worker(self.group, self.local, self._in_sync))

    def _without_config(self) -> list[Decision] | None:
        """Wait if the MultiKueueConfig is missing: its workers are unknown, so running jobs keep running."""
        return None if self.group.configured else []

    def _evicted_there(self) -> list[Decision] | None:
        """Set the check to Retry if the worker has evicted the copy."""
        worker = self.group.worker(self.local.cluster) if self.local.cluster else None
        if not self.started or worker is None or not worker.reachable or worker.workload is None:
            return None
        if not evicted_for(worker.workload):
            return None
        message = f'Workload evicted on worker cluster: "{worker.name}", resetting for re-admission. Previously: '
        return [SetCheck(RETRY, f'{message}"{self.state}"')] if self.state != RETRY else []

    def _with(self, condition: str) -> list[WorkerCluster]:
        reachable = self.group.reachable()
        return [worker for worker in reachable if worker.workload is not None and worker.workload.holds(condition)]

    # --- the chosen cluster

    def _out_of_sync(self) -> list[Decision] | None:
        """Update or remove copies whose spec differs from the manager's workload."""
        found: list[Decision] = []
        for worker in self.group.reachable():
            if worker.workload is None or not differs(self.local, worker.workload):
                continue
            if self._may_follow(worker.workload):
                found += [] if worker.rejection else [UpdateClone(worker.name)]
                continue
            found += remove(worker)
            if self.started and worker.name == self.local.cluster:
                found += self._retry(_GONE)
        return found or None

    def _may_follow(self, remote: Workload) -> bool:
        """Whether the copy can be updated in place: its priority differs, or an elastic job has fewer pods."""
        ranked = (remote.base, remote.priority_class) != (self.local.base, self.local.priority_class)
        return ranked or (self.group.elastic and shrunk(remote, self.local))

    @cached_property
    def winner(self) -> WorkerCluster | None:
        """The worker that admitted the copy first. Once a cluster is chosen, only that one counts."""
        usable = (w for w in self.group.reachable() if w.configured and (self.started or not w.spent))
        return admitted_first(worker for worker in usable if self.local.cluster in ("", worker.name))

    def _won(self) -> list[Decision] | None:
        winner = self.winner
        if winner is None:
            return None
        others = [worker for worker in self.group.reachable() if worker.name != winner.name and worker.holds]
        leaving = [step for worker in others for step in remove(worker)]
        jobs = any(worker.job is not None for worker in others)
        if self.state == RETRY or jobs or (others and self.local.cluster and not self.started):
            return leaving
        return [*leaving, *(self._run(winner) if self.local.cluster else self._choose(winner))]

    def _choose(self, winner: WorkerCluster) -> list[Decision]:
        waits = self._waits_for(self.group.workers, but=winner.name)
        if waits is not None:
            return waits
        if winner.rejection:
            return remove(winner)
        if winner.name not in self.local.nominated:
            return [Nominate((*self.local.nominated, winner.name))]
        return [SetClusterName(winner.name)]

    def _waits_for(self, workers: tuple[WorkerCluster, ...], but: str = "") -> list[Decision] | None:
        """The steps while a job may exist on another cluster; None if no cluster may have one."""
        for worker in workers:
            if worker.name != but and worker.reachable and worker.uncertain:
                return []
        until = self.group.barrier(self.local, but)
        if until is None:
            return None
        return [Again(until)] if until else []

    def _run(self, winner: WorkerCluster) -> list[Decision]:
        if winner.job is None:
            if winner.uncertain:
                return []
            if self.started and (winner.spent or winner.rejection):
                return self._retry(f'The job was deleted on worker cluster "{winner.name}"')
            return [*remove(winner), ClearClusterName()] if winner.rejection else [CreateJob(winner.name)]
        if winner.job.broken:
            return self._retry(f'Pods were deleted on worker cluster "{winner.name}"')
        if winner.job.stopped and self.started:
            return self._retry(f'The job was suspended on worker cluster "{winner.name}"')
        steps = self._completed(winner, winner.job)
        if winner.job.missing and not self.started:
            return steps
        if placed_on(self.local) != winner.name:  # an earlier manager has placed it
            steps.append(SetClusterName(winner.name))
        if waits_for_topology(self.local):  # its worker has admitted it, so the manager assigns no places
            steps.append(NotePlaces())
        message = admitted_on(winner.name)
        state = PENDING if self.stays_pending else READY
        check = self.group.check
        if check is not None and (check.state, check.message) != (state, message):
            steps.append(SetCheck(state, message))
        if winner.job.news:
            steps.append(CopyStatus(winner.name))
        if winner.job.outdated and self.group.settings.syncs_spec:
            steps.append(UpdateJob(winner.name))
        return steps

    def _completed(self, winner: WorkerCluster, job: RemoteJob) -> list[Decision]:
        """Give the worker the same Pods of a group as the manager: first delete Pods, then create some."""
        if job.extra:
            return [TrimJob(winner.name)]
        if not job.missing or winner.uncertain:
            return []
        if winner.rejection and not self.started:
            return [*remove(winner), ClearClusterName()]
        return [CreateJob(winner.name)]

    def _lost(self) -> list[Decision] | None:
        """The steps if the cluster of its job no longer has the copy, or is unreachable."""
        if not self.started:
            return None
        if not self.local.cluster:
            return self._retry(_NO_CLUSTER)
        worker = self.group.worker(self.local.cluster)
        if worker is None or worker.reachable:
            return self._retry(_GONE)
        if self.group.expired(worker):
            return self._retry("Admitting remote lost")
        expiry = self.group.expiry(worker)
        return [Again(expiry)] if expiry else []

    def _given_up(self) -> list[Decision] | None:
        """Withdraw the choice of a cluster on which no job was observed, and whose copy is no longer admitted."""
        if not self.local.cluster or self.group.elastic:
            return None
        if self.state == RETRY:
            return []
        worker = self.group.worker(self.local.cluster)
        if worker is None:
            return [ClearClusterName()]
        if worker.reachable:
            return [] if worker.uncertain else remove(worker) or [ClearClusterName()]
        expiry = self.group.expiry(worker)
        if not self.group.expired(worker):
            return [Again(expiry)] if expiry else []
        return [ClearClusterName()]


def differs(local: Workload, remote: Workload) -> bool:
    """Whether the spec of the copy differs.

    spec.active does not count, since a deactivation on the worker is an eviction. minCount does not count, since a
    worker without partial admission drops it.
    """
    return _asked(local) != _asked(remote)


def _asked(workload: Workload) -> tuple[object, ...]:
    pods = tuple(replace(each, min_count=None) for each in workload.pod_sets)
    return workload.queue, pods, workload.maximum_seconds, workload.base, workload.priority_class


def shrunk(remote: Workload, local: Workload) -> bool:
    """Whether the manager's workload has the same pod sets, some smaller and none larger."""
    before, after = remote.sizes, local.sizes
    if before.keys() != after.keys():
        return False
    return before != after and all(after[name] <= count for name, count in before.items())
