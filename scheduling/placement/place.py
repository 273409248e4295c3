"""Where a workload runs: the next steps for one workload over all worker clusters, from the state as it is.

All steps that are returned may be taken at once. Ask again when anything was written or seen. A crash, a lost answer or
a partition between any two writes loses nothing and runs nothing twice, for these reasons:

- a job starts on a worker only where its copy of the workload is admitted, and only one job is made: on the cluster
  that the workload here names. It names that before the job is made, and after the copies on all other workers that
  can be reached are gone.
- which cluster may have a job is kept through an eviction (`group.PLACED_ON`) until that cluster was seen without one,
  or was out of reach for as long as a worker may be lost.
- the check is Ready only after the job was seen. So a job that is missing later was taken away on the worker.

Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue (order and messages); KEP-693.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from scheduling.objects.workload import EVICTED, FINISHED, Workload
from scheduling.placement.decisions import (
    Again,
    CopyStatus,
    CreateJob,
    Decision,
    Finish,
    Nominate,
    Place,
    SetCheck,
    TrimJob,
    Unplace,
    UpdateClone,
)
from scheduling.placement.dispatch import dispatch
from scheduling.placement.gates import open_gates
from scheduling.placement.group import Group, RemoteJob, Worker, placed_on
from scheduling.placement.leaving import barred, leaves_here, remove, remove_all
from scheduling.status.checks import PENDING, READY, REJECTED, RETRY

OUT_OF_SYNC, OWNER_NOT_FOUND = "OutOfSync", "OwnerNotFound"
_NO_CLUSTER = "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"


def admitted_on(cluster: str) -> str:
    """What the check says once the job is on its cluster."""
    return f'The workload was admitted on "{cluster}"'


def place(group: Group) -> list[Decision]:
    """The next steps; none where it is others' turn."""
    local, check = group.local, group.check
    if local is None or local.deleting:
        return remove_all(group)
    if check is None or check.state == REJECTED:
        return remove_all(group) if local.finished or not local.reserved else []
    return _Placement(group, local).steps()


@dataclass(frozen=True)
class _Placement:
    """A workload that its check of MultiKueue looks after."""

    group: Group
    local: Workload

    def steps(self) -> list[Decision]:
        """Of the first that has something to say; one that returns [] says that it waits."""
        for step in (
            self._unfit,
            self._replaced,
            self._released,
            self._foreign,
            self._finished,
            self._evicted,
            self._unknown,
            self._evicted_there,
            self._unlike,
            self._won,
            self._lost,
            self._given_up,
        ):
            found = step()
            if found is not None:
                return found
        return [*open_gates(self.group), *dispatch(self.group, self.local)]

    # --- what the check says

    @property
    def state(self) -> str:
        return self.group.check.state if self.group.check is not None else ""

    @property
    def started(self) -> bool:
        """Whether its job was seen on its cluster."""
        check, cluster = self.group.check, self.local.cluster
        told = check is not None and check.state == PENDING and check.message == admitted_on(cluster)
        return self.state == READY or (bool(cluster) and told)

    @cached_property
    def stays_pending(self) -> bool:
        """Whether somebody here would run the job were the workload admitted."""
        return self.group.job is not None and not self.group.job.managed

    def _set(self, state: str, message: str, warning: bool = False) -> SetCheck:
        return SetCheck(state, f'{message}, Previously: "{self.state}"', told=False, warning=warning)

    def _retry(self, message: str) -> list[Decision]:
        """Away from its cluster, to be placed anew; nothing where that is on its way."""
        return [self._set(RETRY, message)] if self.state != RETRY else []

    # --- whether it can be placed at all

    def _unfit(self) -> list[Decision] | None:
        job = self.group.job
        if job is None:
            return [] if self.group.owned else [self._set(REJECTED, "No multikueue adapter found")]
        if not job.adapted:
            return [self._set(REJECTED, f'No multikueue adapter found for owner kind "{job.kind}"')]
        if job.managed:
            return None
        if self.state == READY and not self.local.cluster:
            return []  # it ran here before its ClusterQueue got the check, and stays
        if self.group.placing.without_managed_by == "KeepSuspended":
            return None
        wanted = f'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "{job.managed_by}"'
        return [self._set(REJECTED, f"The owner is not managed by Kueue: {wanted}")]

    def _replaced(self) -> list[Decision] | None:
        """A slice of an elastic job that another has replaced, or one that is to replace another."""
        if not self.group.elastic:
            return None
        finished = self.local.conditions.get(FINISHED)
        replaced = self.local.finished and finished is not None and finished.reason == "WorkloadSliceReplaced"
        grows = not self.local.finished and not self.local.reserved and self.local.replaces
        return [] if replaced or grows else None

    # --- when it leaves

    def _released(self) -> list[Decision] | None:
        """Without quota here it has no place anywhere."""
        return remove_all(self.group) if self.local.finished or not self.local.reserved else None

    def _foreign(self) -> list[Decision] | None:
        """Copies of a workload of the same name that was here before."""
        found = [worker for worker in self.group.reachable() if leaves_here(worker, self.local)]
        return [step for worker in found for step in remove(worker)] or None

    def _finished(self) -> list[Decision] | None:
        ended = [(w.workload.conditions[FINISHED].since, w.name) for w in self._with(FINISHED) if w.workload]
        if not ended:
            return None
        worker = self.group.worker(min(ended)[1])
        assert worker is not None
        assert worker.workload is not None
        told = worker.workload.conditions[FINISHED]
        if told.reason in (OUT_OF_SYNC, OWNER_NOT_FOUND):
            what = "is out of sync with its user job" if told.reason == OUT_OF_SYNC else "has lost its job"
            message = f'Remote workload on worker cluster "{worker.name}" {what}, resetting for re-dispatch'
            return [SetCheck(step.state, step.message, warning=True) for step in self._retries(message)]
        if worker.taken:
            return []
        if worker.job is not None and worker.job.news:
            return [CopyStatus(worker.name)]
        return [Finish(told.reason, told.message)]

    def _retries(self, message: str) -> list[SetCheck]:
        return [step for step in self._retry(message) if isinstance(step, SetCheck)]

    def _evicted(self) -> list[Decision] | None:
        return barred(self.group, self.local) if self.local.evicted else None

    def _unknown(self) -> list[Decision] | None:
        """Without its MultiKueueConfig nobody knows where it may be: what runs goes on."""
        return None if self.group.configured else []

    def _evicted_there(self) -> list[Decision] | None:
        """Its worker has sent it away."""
        worker = self.group.worker(self.local.cluster) if self.local.cluster else None
        if not self.started or worker is None or not worker.reachable or worker.workload is None:
            return None
        if not worker.workload.holds(EVICTED) and worker.workload.active:
            return None
        message = f'Workload evicted on worker cluster: "{worker.name}", resetting for re-admission. Previously: '
        return [SetCheck(RETRY, f'{message}"{self.state}"')] if self.state != RETRY else []

    def _with(self, condition: str) -> list[Worker]:
        reachable = self.group.reachable()
        return [worker for worker in reachable if worker.workload is not None and worker.workload.holds(condition)]

    # --- where it runs

    def _unlike(self) -> list[Decision] | None:
        """Copies that ask for something else than the workload here by now."""
        found: list[Decision] = []
        for worker in self.group.reachable():
            if worker.workload is None or not differs(self.local, worker.workload):
                continue
            if self._may_follow(worker.workload):
                found.append(UpdateClone(worker.name))
                continue
            found += remove(worker)
            if self.started and worker.name == self.local.cluster:
                found += self._retry("Remote workload out of sync")
        return found or None

    def _may_follow(self, remote: Workload) -> bool:
        """Whether its copy is changed in place: another priority, or fewer pods of an elastic job."""
        ranked = (remote.base, remote.priority_class) != (self.local.base, self.local.priority_class)
        return ranked or (self.group.elastic and shrunk(remote, self.local))

    @cached_property
    def winner(self) -> Worker | None:
        """The worker that admitted it first; once a cluster is named, that one alone."""
        reachable = (w for w in self.group.reachable() if w.configured and (self.started or not w.spent))
        found = [(worker.admitted.since, worker.name) for worker in reachable if worker.admitted]
        if self.local.cluster:
            found = [entry for entry in found if entry[1] == self.local.cluster]
        return self.group.worker(min(found)[1]) if found else None

    def _won(self) -> list[Decision] | None:
        winner = self.winner
        if winner is None:
            return None
        others = [worker for worker in self.group.reachable() if worker.name != winner.name and worker.holds]
        leaving = [step for worker in others for step in remove(worker)]
        if self.state == RETRY or (others and not self.started):
            return leaving
        return [*leaving, *(self._run(winner) if self.local.cluster else self._choose(winner))]

    def _choose(self, winner: Worker) -> list[Decision]:
        waits = self._waits_for(self.group.workers, but=winner.name)
        if waits is not None:
            return waits
        if winner.taken:
            return remove(winner)
        if winner.name not in self.local.nominated:
            return [Nominate((*self.local.nominated, winner.name))]
        return [Place(winner.name)]

    def _waits_for(self, workers: tuple[Worker, ...], but: str = "") -> list[Decision] | None:
        """What to do instead while a job may be on another cluster; None where there is none."""
        for worker in workers:
            if worker.name != but and worker.reachable and worker.uncertain:
                return []
        until = self.group.barrier(self.local, but)
        if until is None:
            return None
        return [Again(until)] if until else []

    def _run(self, winner: Worker) -> list[Decision]:
        if winner.job is None:
            if winner.uncertain:
                return []
            if self.started:
                return self._retry(f'The job was deleted on worker cluster "{winner.name}"')
            return [*remove(winner), Unplace()] if winner.taken else [CreateJob(winner.name)]
        if winner.job.broken:
            return self._retry(f'Pods were deleted on worker cluster "{winner.name}"')
        steps = self._completed(winner, winner.job)
        if winner.job.missing and not self.started:
            return steps
        if placed_on(self.local) != winner.name:  # another manager has placed it
            steps.append(Place(winner.name))
        message = admitted_on(winner.name)
        state = PENDING if self.stays_pending else READY
        check = self.group.check
        if check is not None and (check.state, check.message) != (state, message):
            steps.append(SetCheck(state, message))
        if winner.job.news:
            steps.append(CopyStatus(winner.name))
        return steps

    def _completed(self, winner: Worker, job: RemoteJob) -> list[Decision]:
        """What makes the Pods of a group there those that are here: first who is too many goes."""
        if job.extra:
            return [TrimJob(winner.name)]
        if not job.missing or winner.uncertain:
            return []
        if winner.taken and not self.started:
            return [*remove(winner), Unplace()]
        return [CreateJob(winner.name)]

    def _lost(self) -> list[Decision] | None:
        """Its job was on a cluster that shows nothing of it any more, or shows nothing at all."""
        if not self.started:
            return None
        if not self.local.cluster:
            return self._retry(_NO_CLUSTER)
        worker = self.group.worker(self.local.cluster)
        if worker is None or worker.reachable:
            return self._retry("Admitting remote no longer exists or is not admitted")
        if self.group.expired(worker):
            return self._retry("Admitting remote lost")
        expiry = self.group.expiry(worker)
        return [Again(expiry)] if expiry else []

    def _given_up(self) -> list[Decision] | None:
        """A cluster was chosen, but the job not made there yet."""
        if not self.local.cluster or self.group.elastic:
            return None
        if self.state == RETRY:
            return []
        worker = self.group.worker(self.local.cluster)
        if worker is None:
            return [Unplace()]
        if worker.reachable:
            return [] if worker.uncertain else remove(worker) or [Unplace()]
        expiry = self.group.expiry(worker)
        if not self.group.expired(worker):
            return [Again(expiry)] if expiry else []
        return [Unplace()]


def differs(local: Workload, remote: Workload) -> bool:
    """Whether the copy asks for something else.

    That it was deactivated on the worker is its eviction there; a worker without partial admission drops minCount.
    """
    return _asked(local) != _asked(remote)


def _asked(workload: Workload) -> tuple[object, ...]:
    pods = tuple(replace(each, min_count=None) for each in workload.pod_sets)
    return workload.queue, pods, workload.maximum_seconds, workload.base, workload.priority_class


def shrunk(remote: Workload, local: Workload) -> bool:
    """Whether the workload here asks for the same sets of pods, none larger and some smaller."""
    before = {each.name: each.count for each in remote.pod_sets}
    after = {each.name: each.count for each in local.pod_sets}
    if before.keys() != after.keys():
        return False
    return before != after and all(after[name] <= count for name, count in before.items())
