"""Workloads that outlive their job: they finish, so that nobody waits for quota which nobody uses.

A watch that shows a job no more may only have lost it by its label. So the job is asked for by its name, and only the
API server's answer that it is not there, or is another one, counts. Source: Kueue v0.19, gate FinishOrphanedWorkloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cluster.actions import Delete
from policies.dialects.core import POD
from policies.dialects.reading import Manifest
from reconciler.core.commands import ReadObject
from reconciler.core.controller import Busy
from reconciler.jobs.kind import JobKind
from reconciler.jobs.life import owner_not_found
from reconciler.jobs.step import JobInputs, Step
from reconciler.multikueue.remote import ORIGIN
from reconciler.objects.observed import Key
from reconciler.objects.patches import WORKLOADS
from scheduling.objects.naming import workload_names
from scheduling.objects.workload import JOB_UID, Workload


class Orphans:
    """By the name of the Workload. Jobs are asked for once, by their uid."""

    def __init__(self) -> None:
        self._sought: dict[Key, str] = {}
        self._asked: dict[Key, str] = {}
        self._job_of: dict[str, Key] = {}
        self._workloads: dict[str, bool] = {}
        self._alive: set[str] = set()

    def __contains__(self, workload: object) -> bool:
        return workload in self._workloads

    def last(self, whole: Manifest, read: Workload, inputs: JobInputs, now: int) -> list[Step]:
        """What is written of it; where there is another job of that name by now, it is deleted."""
        if self._workloads.get(read.key) and not read.deleting:
            return [Step(Delete(WORKLOADS, read.namespace, read.name, read.resource_version))]
        return owner_not_found(whole, read, inputs, now)

    def seek(self, job: Key, uid: str, workload: str) -> None:
        """The job of this Workload is not in sight."""
        self._sought[job] = uid
        self._job_of[workload] = job

    def questions(self, kinds: dict[str, JobKind], busy: Busy) -> Iterator[ReadObject]:
        for key in [key for key in self._sought if not busy(*key)]:
            self._asked[key] = self._sought.pop(key)
            namespace, _, name = key[1].partition("/")
            yield ReadObject(key, kinds[key[0]].resource.item(name, namespace))

    def answered(self, job: Key, uid: str = "", *, going: bool = False) -> str:
        """The uid of the job that is gone, since the one there now has this uid, empty for none; else empty.

        One that is `going` may have let go of its Workload already: the garbage collector does that first.
        """
        asked = self._asked.pop(job, "") if job not in self._sought else ""
        if asked == uid != "" and not going:
            self._alive.add(uid)
        return asked if asked != uid else ""

    def changed(self, workload: Workload, jobs: Iterable[Key]) -> None:
        """These jobs have its name. Before one takes back what has lost it, the API server says that it is there."""
        uid = workload.labels.get(JOB_UID, "")
        if not ownerless(workload):
            self._alive.discard(uid)
        elif uid not in self._alive:
            for job in jobs:
                self.seek(job, uid, workload.key)

    def lost(self, workload: Workload, uid: str) -> bool:
        """Whether it was made for the job of this uid, which may be gone though a watch shows it still."""
        return ownerless(workload) and workload.labels[JOB_UID] == uid not in self._alive

    def add(self, workloads: Iterable[str], *, replaced: bool) -> None:
        self._workloads.update(dict.fromkeys(workloads, replaced))

    def remove(self, workload: str) -> None:
        """It is gone, or its job is in sight again: nobody need ask for that."""
        self._workloads.pop(workload, None)
        if workload in self._job_of:
            self._sought.pop(self._job_of.pop(workload), None)


def ownerless(workload: Workload) -> bool:
    """Whether it was made for one job, not a Pod, and has lost it. Copies on a worker cluster never had one."""
    uid = workload.labels.get(JOB_UID, "")
    if not uid or workload.owners or ORIGIN in workload.labels:
        return False
    return workload.name not in workload_names(POD, workload.name.removeprefix("pod-").rpartition("-")[0], uid)
