"""Workloads that outlive their job: they finish, so that nobody waits for quota which nobody uses.

A watch that shows a job no more may only have lost it by its label, and none shows a job that went while nobody led. So
the job is asked for by its name. Source: Kueue v0.19, gate FinishOrphanedWorkloads.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from cluster.actions import Delete
from policies.dialects.core import POD
from policies.dialects.reading import Manifest, listing, mapping, metadata, text
from policies.model.objects import GroupKind
from reconciler.controllers.owners.job_questions import JobQuestions
from reconciler.jobs.life import owner_not_found
from reconciler.jobs.step import JobInputs, Step
from reconciler.objects.observed import Key
from reconciler.objects.patches import WORKLOADS
from scheduling.objects.naming import workload_names
from scheduling.objects.submission import kind_of
from scheduling.objects.workload import JOB_UID, ORIGIN, Workload


class Orphans:
    """Which jobs are there, of those that lost their Workload, by their uid."""

    def __init__(self, questions: JobQuestions) -> None:
        self._questions = questions
        self._alive: set[str] = set()

    def gone(self, asked: Iterable[str], job: Manifest) -> list[str]:
        """Which of the jobs that were asked for are gone, since this one has their name now; its metadata.

        One on its way out may have let go of its Workload already: the garbage collector does that first.
        """
        uid = text(job.get("uid")) or ""
        if uid in asked and not job.get("deletionTimestamp"):
            self._alive.add(uid)
        return [each for each in asked if each != uid]

    def changed(self, workload: Workload, jobs: Iterable[Key]) -> None:
        """These jobs have its name. Before one takes back what has lost it, the API server says that it is there."""
        uid = workload.labels.get(JOB_UID, "")
        if not ownerless(workload):
            self._alive.discard(uid)
        elif uid not in self._alive:
            for job in jobs:
                self._questions.seek(job, uid)

    def lost(self, workload: Workload, uid: str, *, going: bool) -> bool:
        """Whether it was made for the job of this uid, which is going, or may be gone though a watch shows it still."""
        return ownerless(workload) and workload.labels[JOB_UID] == uid and (going or uid not in self._alive)


def ownerless(workload: Workload) -> bool:
    """Whether it was made for one job, not a Pod, and has lost it. Copies on a worker cluster never had one."""
    uid = workload.labels.get(JOB_UID, "")
    if not uid or workload.owners or ORIGIN in workload.labels:
        return False
    return workload.name not in workload_names(POD, workload.name.removeprefix("pod-").rpartition("-")[0], uid)


def last(whole: Manifest, read: Workload, inputs: JobInputs, now: int, *, replaced: bool) -> list[Step]:
    """What is written of one whose job is gone; where there is another job of that name by now, it is deleted."""
    if replaced and not read.deleting:
        return [Step(Delete(WORKLOADS, read.namespace, read.name, read.resource_version))]
    return owner_not_found(whole, read, inputs, now)


def is_owned(workload: Workload, kind: GroupKind, job: str, uid: str) -> bool:
    """Whether the job `namespace/name` of this uid is an owner of it."""
    return any(
        GroupKind(owner.api_version.rpartition("/")[0], owner.kind) == kind
        and (f"{workload.namespace}/{owner.name}", owner.uid) == (job, uid)
        for owner in workload.owners
    )


def has_owner(workload: Manifest, kinds: Container[GroupKind]) -> bool:
    """Whether one of its owners is of one of these kinds."""
    return any(kind_of(owner) in kinds for owner in map(mapping, listing(metadata(workload).get("ownerReferences"))))
