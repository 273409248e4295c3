"""The records of all jobs and Workloads, indexes of them, and the jobs and Workloads to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile

from policies.model.objects import GroupKind, parted
from reconciler.controllers.jobs.record import Event, JobId, JobRecord, JobState, VisibleJob, WorkloadRecord
from reconciler.controllers.jobs.started_pods import StartedPod
from reconciler.jobs.described import JobKind
from reconciler.objects.observed import Key
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Owner, Workload

OVERDUE = 60 * SECOND
"""Nanoseconds after which an invisible or unqueued job is overdue. For less time, its kind may just not be served."""
_AT_ONCE = 250
"""The most renewed jobs that are looked at in one turn, which takes about a fifth of a second."""


class JobStore:
    """The records. Times are in nanoseconds.

    `visible`: the jobs that a watch shows, by kind and name.
    `by_uid`: the same jobs by uid.
    `revision`: a number that changes with each of these jobs.
    `stale`, `stale_workloads`: the jobs and Workloads to look at in this turn.
    `renewed`: the jobs to look at in this turn or a later one.
    `unresolved`: the jobs in the state UNRESOLVED.
    """

    def __init__(self, kinds: Mapping[GroupKind, JobKind]) -> None:
        self._kinds = kinds
        self.jobs: dict[JobId, JobRecord] = {}
        self._of_name: dict[str, dict[JobId, JobRecord]] = {}
        self.visible: dict[Key, JobRecord] = {}
        self.by_uid: dict[str, JobRecord] = {}
        self.revision = 0
        self.workloads: dict[str, WorkloadRecord] = {}
        self.stale: dict[Key, None] = {}
        self.renewed: dict[Key, None] = {}
        self.stale_workloads: dict[str, None] = {}
        self.unresolved: dict[JobId, None] = {}
        self._workload_of_pod: dict[str, str] = {}
        self._changed: dict[JobId, None] = {}
        self._waiting: dict[JobId, None] = {}

    # --- jobs

    def job(self, job: JobId) -> JobRecord:
        """The record of the job, a new one if it was unknown."""
        found = self.jobs.get(job)
        if found is None:
            found = self.jobs[job] = JobRecord(job)
            self._of_name.setdefault(job.name, {})[job] = found
            self._enters_unresolved(job)
        return found

    def named(self, name: str) -> Iterable[JobRecord]:
        """The jobs `namespace/name` of all kinds and uids."""
        return self._of_name.get(name, {}).values()

    def show(self, record: JobRecord, visible: VisibleJob) -> None:
        self.revision += 1
        before, record.visible = record.visible, visible
        self.visible[record.id.key] = self.by_uid[record.id.uid] = record
        self.workload(visible.workload).jobs[record.id.key] = None
        if visible.owner is not None:
            self.job(visible.owner).children[record.id] = None
        if before is not None:
            self._unlink(record, before)

    def hide(self, record: JobRecord) -> None:
        self.revision += 1
        before, record.visible, record.due = record.visible, None, None
        if before is not None:
            self._unlink(record, before)
            del self.visible[record.id.key]
            if self.by_uid.get(record.id.uid) is record:
                del self.by_uid[record.id.uid]
        self.tidy(record)

    def _unlink(self, record: JobRecord, before: VisibleJob) -> None:
        """Remove the job from its former Workload and its former owner, if these have changed."""
        now = record.visible
        if now is None or now.workload != before.workload:
            self.workloads[before.workload].jobs.pop(record.id.key, None)
            self.tidy_workload(before.workload)
        if before.owner is not None and (now is None or now.owner != before.owner):
            self.jobs[before.owner].children.pop(record.id, None)
            self.tidy(self.jobs[before.owner])

    def tidy(self, record: JobRecord) -> None:
        """Forget a job that is not visible and to which no object refers."""
        if record.unreferenced and self.jobs.get(record.id) is record:
            del self.jobs[record.id], self._of_name[record.id.name][record.id]
            if not self._of_name[record.id.name]:
                del self._of_name[record.id.name]
            for known in (self.unresolved, self._changed, self._waiting):
                known.pop(record.id, None)

    # --- states

    def enter(self, record: JobRecord, state: JobState, event: Event, why: str) -> bool:
        if not record.enter(state, event, why):
            return False
        self._changed[record.id] = None
        if state is JobState.UNRESOLVED:
            self._enters_unresolved(record.id)
        else:
            self.unresolved.pop(record.id, None)
        return True

    def _enters_unresolved(self, job: JobId) -> None:
        self.unresolved[job] = None
        self.wait_anew(self.jobs[job])

    def stamp(self, now: int) -> None:
        """Begin a turn: set the time of the changes since the last turn."""
        for job in self._changed:
            record = self.jobs[job]
            record.stamp(now)
            if record.visible is None:
                self.wait(record, now)
        self._changed.clear()

    def wait(self, record: JobRecord, now: int) -> None:
        """The job is not visible, or not queued. Remember when that began."""
        if record.since is None:
            record.since = now
            self._waiting[record.id] = None

    def wait_no_more(self, record: JobRecord) -> None:
        record.since = None
        self._waiting.pop(record.id, None)

    def wait_anew(self, record: JobRecord) -> None:
        """Restart the wait at the next turn."""
        self.wait_no_more(record)
        self._changed[record.id] = None

    def is_overdue(self, record: JobRecord, now: int) -> bool:
        return record.since is not None and now - record.since >= OVERDUE

    def come_due(self, now: int) -> None:
        """Mark the Workloads of jobs that have become overdue."""
        for job in list(takewhile(lambda each: self.is_overdue(self.jobs[each], now), self._waiting)):
            del self._waiting[job]
            self.stale_workloads.update(self.jobs[job].workloads)

    # --- Workloads

    def workload(self, name: str) -> WorkloadRecord:
        """The record of the Workload, a new one if it was unknown."""
        return self.workloads.setdefault(name, WorkloadRecord())

    def owners(self, name: str) -> tuple[JobId, ...]:
        found = self.workloads.get(name)
        return found.owners if found is not None else ()

    def represented_by(self, name: str) -> Iterable[Key]:
        """The visible jobs that this Workload represents, or will represent once it is created."""
        found = self.workloads.get(name)
        return found.jobs if found is not None else ()

    def own(self, name: str, read: Workload | None) -> list[JobId]:
        """Record the owners of a Workload; `read` is None if it is gone. Returns the jobs that are new among them."""
        owners = tuple(self._owners(name, read.owners)) if read is not None else ()
        before = self.owners(name)
        if owners == before:
            return []
        self.workload(name).owners = owners
        self.tidy_workload(name)
        for job in before:
            if job not in owners:
                self.jobs[job].workloads.pop(name, None)
                self.tidy(self.jobs[job])
        for job in owners:
            self.job(job).workloads[name] = None
        return [job for job in owners if job not in before]

    def _owners(self, workload: str, owners: Iterable[Owner]) -> Iterator[JobId]:
        namespace = parted(workload)[0]
        for owner in owners:
            kind = self._kinds.get(owner.group_kind)
            if kind is not None and owner.uid:
                yield JobId(kind.name, f"{namespace}/{owner.name}", owner.uid)

    def forget_workload(self, name: str) -> None:
        """The Workload is gone from the API server. Jobs and Pods may still refer to it."""
        self.stale_workloads.pop(name, None)
        record = self.workloads.get(name)
        if record is not None:
            record.left, record.left_at = False, None
            self.tidy_workload(name)

    def tidy_workload(self, name: str) -> None:
        """Forget a Workload to which nothing refers."""
        if name in self.workloads and self.workloads[name].unreferenced:
            del self.workloads[name]

    # --- Pods

    def pod(self, name: str) -> StartedPod | None:
        """The Pod with the Workload and the controller that it had when it was first observed."""
        home = self._workload_of_pod.get(name)
        return self.workloads[home].pods[name] if home is not None else None

    def put_pod(self, name: str, pod: StartedPod | None) -> str | None:
        """Record a Pod; None if it has ended. Returns the Workload that it has left, or None."""
        before = self.pod(name)
        if before is not None and pod is not None and before.uid == pod.uid:
            pod = before.later(pod)
        home = self._workload_of_pod.pop(name, None)
        if before is not None and home is not None:
            self.workloads[home].pod_sets[before.pod_set] -= 1
        if pod is not None and pod.workload:
            self._workload_of_pod[name] = pod.workload
            record = self.workload(pod.workload)
            record.pods[name] = pod
            record.pod_sets[pod.pod_set] += 1
            record.given_up.pop(name, None)
            if pod.given_up:
                record.given_up[name] = None
        if home is None or (pod is not None and pod.workload == home):
            return None
        del self.workloads[home].pods[name]
        self.workloads[home].given_up.pop(name, None)
        self.tidy_workload(home)
        return home

    def pods_run(self, workload: str) -> bool:
        found = self.workloads.get(workload)
        return found is not None and bool(found.pods)

    # --- what to look at

    def begin_look(self, record: JobRecord) -> None:
        """Mark the former Workloads whose quota its pods may still use. A change of the job may free it."""
        self.stale_workloads.update(dict.fromkeys(record.used))
        record.used, record.due = (), None

    def renew_all(self) -> None:
        self.renewed.update(dict.fromkeys(self.visible))

    def renew_some(self) -> None:
        """Mark some of the renewed jobs in each turn, so that other jobs do not wait for all of them."""
        for key in [*islice(self.renewed, _AT_ONCE)]:
            del self.renewed[key]
            self.stale[key] = None
