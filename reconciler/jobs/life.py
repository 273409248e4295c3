"""The next steps of a queued job of any kind: its Workload, its start, its stop and its end.

The steps are computed from the stored objects alone. Each call returns at most one write for the job and its Workload
together, bound to the versions that were read. The caller calls again when the write is observed.
Source: Kueue v0.19, pkg/controller/jobframework/reconciler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cluster.actions import Create, Delete
from policies.dialects.kueue_jobs import PRIORITY_CLASS
from policies.dialects.kueue_kinds import IN_USE
from policies.dialects.kueue_workload import GATED_BY
from policies.dialects.reading import Manifest, listing, metadata, text, texts
from reconciler.jobs.composed import (
    RequestedWork,
    class_message,
    class_update,
    composed,
    fits,
    gates_message,
    gates_update,
    gets_class,
    requested_work,
    spec_update,
)
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import (
    counts_differ,
    has_start_labels,
    on_worker_cluster,
    size_may_differ,
    with_stored_counts,
)
from reconciler.jobs.kind import Writing, labels, prebuilt
from reconciler.jobs.pod_changes import CannotStart
from reconciler.jobs.reported import reported
from reconciler.jobs.step import JobInputs, JobStep
from reconciler.jobs.superseded import controller
from reconciler.objects.patches import ADMISSION_MANAGER, JOB_MANAGER, WORKLOADS, condition_manager, patch, status_patch
from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.submission import queue_of
from scheduling.objects.workload import (
    EVICTED,
    FINISHED,
    IS_GROUP_WORKLOAD,
    JOB_UID,
    ON_HOLD,
    ORIGIN,
    OUT_OF_SYNC,
    OWNER_NOT_FOUND,
    Workload,
)
from scheduling.status.deadlines import release
from scheduling.status.progress import finish
from scheduling.status.reservation import unreserve

NOT_ON_HOLD = "Workload no longer on hold; waiting for quota reservation"
FAILED_TO_START = "FailedToStart"
AskedOf = Callable[[JobKind, Manifest, JobInputs], RequestedWork | None]


def steps(
    kind: JobKind,
    job: Manifest,
    workload: Manifest | None,
    read: Workload | None,
    inputs: JobInputs,
    now: int,
    asked_of: AskedOf = requested_work,
    *,
    pods_run: bool = False,
) -> list[JobStep]:
    """The next writes; empty while the job has to wait for another controller.

    `workload`: the Workload that is stored under `composed.workload_key`; None if there is none.
    `read`: the same Workload as decisions see it.
    `now`: nanoseconds.
    `asked_of`: computes what the job requests; may use a cache.
    `pods_run`: whether Pods use the quota of the Workload, even if the job does not report them.

    The job must include the result of the last write to it. Otherwise a running job may be mistaken for a stopped one.
    """
    if not managed(kind, job, inputs):
        return []
    uid, owner = text(metadata(job).get("uid")) or "", controller(workload) if workload is not None else ""
    another = read is not None and is_of_another(read, owner, uid)
    if metadata(job).get("deletionTimestamp"):
        if another:
            return []
        return owner_not_found(workload, read, inputs, now) if owner == uid else orphaned(workload, read)
    if on_worker_cluster(kind, job) and (read is None or read.deleting) and not kind.ending(job):
        job = {**job, "status": {}}  # its pods on the worker go with the Workload, and nobody updates the status here
    if workload is None or read is None:
        return _missing(kind, job, inputs)
    if another:
        return _taken(kind, job, read)
    return _Life(kind, job, workload, read, inputs, now, asked_of, pods_run).steps()


def is_of_another(workload: Workload, owner: str, uid: str) -> bool:
    """Whether the Workload was created for another job than the one with this uid. `owner`: the uid of its controller.

    A Workload without an owner reference still belongs to its first job, because Pods of that job may run. That of a
    pod group belongs to its Pods, none of which is its controller. A copy on a worker cluster has the label with the
    uid of the manager's job, which is not compared.
    """
    if workload.annotations.get(IS_GROUP_WORKLOAD) == "true":
        return True
    if owner or workload.owners or ORIGIN in workload.labels:
        return bool(owner) and owner != uid
    return workload.labels.get(JOB_UID, uid) != uid


def managed(kind: JobKind, job: Manifest, inputs: JobInputs) -> bool:
    """Whether the job is queued by itself: it names a queue, and was not admitted together with another job."""
    if not queue_of(job) and not inputs.without_queue:
        return False
    if not inputs.selected(text(metadata(job).get("namespace")) or ""):
        return False
    if kind.shape.leaves_out(job):
        return False
    return not inputs.child(job)


def child_steps(kind: JobKind, job: Manifest, admitted: bool) -> list[JobStep]:
    """The steps of a job that belongs to the job above. It stops with that job; its own controller starts it."""
    if admitted or kind.ending(job) or kind.suspended(job) or metadata(job).get("deletionTimestamp"):
        return []
    return _undone(_written(kind.stopping(job, None, False), "Suspended", "Kueue managed child job suspended"))


def owner_not_found(workload: Manifest | None, read: Workload | None, inputs: JobInputs, now: int) -> list[JobStep]:
    """The job of the Workload is gone: finish the Workload, so that its quota is free, then let it be deleted."""
    if workload is None or read is None:
        return []
    if inputs.finishes_orphans and not (read.finished or read.deleting):
        after = finish(read, OWNER_NOT_FOUND, "The workload's owner no longer exists", now)
        action = status_patch(read, after, condition_manager(FINISHED))
        return [JobStep(action)] if action is not None else []
    return orphaned(workload, read)


def has_finalizer(workload: Manifest | None) -> bool:
    """Whether the Workload has the finalizer that keeps it from deletion while its quota may be in use."""
    return workload is not None and IN_USE in listing(metadata(workload).get("finalizers"))


def orphaned(workload: Manifest | None, read: Workload | None) -> list[JobStep]:
    """The job of the Workload is gone or being deleted: remove the finalizer, so that the Workload can be deleted."""
    if workload is None or read is None:
        return []
    if not has_finalizer(workload):
        return []
    kept = [name for name in listing(metadata(workload).get("finalizers")) if name != IN_USE]
    return [JobStep(patch(read, {"metadata": {"finalizers": kept}}, JOB_MANAGER))]


def _missing(kind: JobKind, job: Manifest, inputs: JobInputs) -> list[JobStep]:
    """The job has no Workload, so it must not run. A Workload is created once no pods are left."""
    if kind.ending(job):
        return []
    beforehand = prebuilt(kind, job)
    if not kind.suspended(job):
        message = "missing workload" if beforehand else "Missing Workload; unable to restore pod templates"
        return _undone(_written(kind.stopping(job, None, False), "Stopped", message))
    if unmarked := kind.unmarked(job):
        return [JobStep(unmarked)]
    if beforehand or not kind.quiet(job):
        return []
    try:
        made = composed(kind, job, inputs)
    except UnknownPriorityClass as error:
        return [JobStep(None, "WorkloadPriorityClassNotFound", error.event, warning=True)]
    if made is None:
        return []
    key = f"{made['metadata']['namespace']}/{made['metadata']['name']}"
    return [JobStep(Create(WORKLOADS, made, JOB_MANAGER), "CreatedWorkload", f"Created Workload: {key}")]


def _taken(kind: JobKind, job: Manifest, read: Workload) -> list[JobStep]:
    """The Workload with the job's name belongs to another job. So the job has no Workload, and must not run."""
    if kind.ending(job):
        return []
    message = f"Workload {read.key} belongs to another object; delete it or give the job another name"
    stop = None if kind.suspended(job) else kind.stopping(job, None, False)
    action = stop.patch if stop is not None else None
    return [JobStep(action, "WorkloadNameConflict", message, warning=True, undoes=action is not None)]


def _written(writing: Writing | None, reason: str, message: str) -> list[JobStep]:
    if writing is None:
        return []
    return [JobStep(writing.patch, reason, message) if writing.reported else JobStep(writing.patch)]


def _undone(steps: list[JobStep]) -> list[JobStep]:
    return [replace(step, undoes=True) for step in steps]


@dataclass(frozen=True)
class _Life:
    """A snapshot of a job and its Workload. For the fields, see the parameters of `steps`."""

    kind: JobKind
    job: Manifest
    workload: Manifest
    read: Workload
    inputs: JobInputs
    now: int
    asked_of: AskedOf
    pods_run: bool

    def steps(self) -> list[JobStep]:
        """The result of the first step that applies. A step returns None if it does not apply, and [] to wait."""
        for step in (
            self._finished,
            self._deleted,
            self._on_hold,
            self._ended,
            self._adopted,
            self._halfway,
            self._reported,
            self._evicted,
            self._mismatched,
            self._gates_changed,
            self._priority_changed,
            self._waiting,
            self._running,
        ):
            found = step()
            if found is not None:
                return found
        return []

    @cached_property
    def made(self) -> Mapping[str, Any] | None:
        """The Workload as it should be now; None if it cannot be composed. A slice with quota keeps its size."""
        slice_runs = self.sliced and self.read.reserved
        return with_stored_counts(self.asked, self.workload) if slice_runs and self.asked is not None else self.asked

    @cached_property
    def asked(self) -> dict[str, Any] | None:
        try:
            return composed(self.kind, self.job, self.inputs)
        except UnknownPriorityClass:
            return None

    @cached_property
    def sliced(self) -> bool:
        return self.inputs.elastic and size_may_differ(self.kind, self.job)

    @property
    def entitled(self) -> bool:
        """Whether the job may continue to run. That is so even if a check is Pending again."""
        read = self.read
        return read.admitted and read.active and not read.evicted and read.admission is not None

    @property
    def startable(self) -> bool:
        return self.entitled and self.read.checks_ready

    def _finished(self) -> list[JobStep] | None:
        if not self.read.finished:
            return None
        if not self.kind.ending(self.job) and self.read.conditions[FINISHED].reason == OUT_OF_SYNC:
            return self._stop("missing workload") or orphaned(self.workload, self.read)
        return orphaned(self.workload, self.read)

    def _deleted(self) -> list[JobStep] | None:
        """The Workload is being deleted: stop the job, and remove the finalizer when no pods are left."""
        if not self.read.deleting:
            return None
        if self.kind.ending(self.job):
            return orphaned(self.workload, self.read)
        unmatched = "No matching Workload; restoring pod templates according to existent Workload"
        stop = self._stop("Workload is deleted" if self._matches() else unmatched)
        if stop or not self._stopped():
            return stop
        return orphaned(self.workload, self.read)

    def _on_hold(self) -> list[JobStep] | None:
        """A job on hold releases its quota and is not queued until it can run. It keeps quota that its Pods use."""
        if self.kind.on_hold(self.job) and not self.pods_run:
            return self._unreserve(ON_HOLD, "Job is on hold") if self.read.reserved else []
        if self.read.on_hold and not self.kind.on_hold(self.job):
            return self._unreserve(
                self.inputs.observability.attempt(PENDING_EVALUATION),
                NOT_ON_HOLD,
            )
        return None

    def _unreserve(self, reason: str, message: str) -> list[JobStep]:
        free = unreserve(self.read, reason, message, self.now, self.inputs.observability)
        return self._status(free, ADMISSION_MANAGER)

    def _ended(self) -> list[JobStep] | None:
        """The job has ended: finish the Workload when all Pods have ended."""
        ending = self.kind.ending(self.job)
        if ending is None:
            return None
        return [] if self.pods_run else self._finish(*ending)

    def _adopted(self) -> list[JobStep] | None:
        """The Workload is prebuilt and has no controller yet: make the job its controller."""
        if controller(self.workload) or self.made is None:
            return None
        wanted, meta = self.made["metadata"], metadata(self.workload)
        owners = [*listing(meta.get("ownerReferences")), *wanted["ownerReferences"]]
        body = {"metadata": {"labels": wanted["labels"], "ownerReferences": owners}}
        return [JobStep(patch(self.read, body, JOB_MANAGER))]

    def _halfway(self) -> list[JobStep] | None:
        """A stop has begun: complete it before anything else."""
        return self._stop("Not admitted by cluster queue") if self.kind.halfway(self.job) else None

    def _reported(self) -> list[JobStep] | None:
        """Write what the job reports about its pods. If the job may not run at all, it is stopped first."""
        if not (self.kind.suspended(self.job) or self.entitled or self.read.evicted):
            return None
        if self.sliced and self.asked is not None and counts_differ(self.asked, self.workload):
            return None  # the report is about the size of another slice
        return reported(self.kind, self.job, self.read, self.inputs, self.now) or None

    def _evicted(self) -> list[JobStep] | None:
        """The Workload is evicted: stop the job, and release the quota when no pods are left."""
        evicted = self.read.holding(EVICTED)
        if evicted is None:
            return None
        stop = self._stop(evicted.message)
        if stop or not self._stopped():
            return stop
        if not self.read.reserved:
            return None
        after = release(self.read, self.now, self.inputs.observability)
        return self._status(after, ADMISSION_MANAGER)

    def _mismatched(self) -> list[JobStep] | None:
        """The Workload does not match the job's requests any more: replace or change it."""
        if not (self.kind.suspended(self.job) or self.entitled):
            return None
        if self._matches():
            return None
        if prebuilt(self.kind, self.job) and self.pods_run:
            return self._stop("The prebuilt workload is out of sync with its user job")
        if prebuilt(self.kind, self.job):
            return self._finish(OUT_OF_SYNC, "The prebuilt workload is out of sync with its user job")
        if self.read.reserved:
            action = Delete(WORKLOADS, self.read.namespace, self.read.name, self.read.resource_version)
            message, runs = f"Deleted not matching Workload: {self.read.key}", not self.kind.suspended(self.job)
            return [JobStep(action, "DeletedWorkload", message, undoes=runs)]
        if self.made is None:
            return None
        message = f"Updated not matching Workload for suspended job: {self.read.key}"
        return [JobStep(patch(self.read, spec_update(self.made), JOB_MANAGER), "UpdatedWorkload", message)]

    def _matches(self) -> bool:
        asks = self._asks()
        return asks is None or fits(self.kind, self.job, asks, self.workload, self.read, self.inputs)

    def _asks(self) -> RequestedWork | None:
        if self.sliced:  # then the requests depend on the Workload as well, so the cache cannot be used
            return RequestedWork.of(self.made) if self.made is not None else None
        return self.asked_of(self.kind, self.job, self.inputs)

    def _gates_changed(self) -> list[JobStep] | None:
        """An admission gate was removed from the job: remove it from the Workload. A prebuilt one has its own gates."""
        named = texts(metadata(self.job).get("annotations")).get(GATED_BY)
        body = None if prebuilt(self.kind, self.job) else gates_update(named, self.read)
        if body is None:
            return None
        return [JobStep(patch(self.read, body, JOB_MANAGER), "UpdatedWorkload", gates_message(named))]

    def _priority_changed(self) -> list[JobStep] | None:
        if not gets_class(self.read, labels(self.job).get(PRIORITY_CLASS, "")) or self.made is None:
            return None
        action = patch(self.read, class_update(self.made), JOB_MANAGER)
        return [JobStep(action, "UpdatedWorkload", class_message(self.read))]

    def _waiting(self) -> list[JobStep] | None:
        if not self.kind.suspended(self.job):
            return None
        if self.startable and self.read.origin and not self.kind.quiet(self.job):
            return []  # somebody else suspended it: wait for its manager, and for its pods to end
        if self.startable:
            return self._start()
        queue = queue_of(self.job)
        if queue == self.read.queue or self.read.admitted:
            return None
        if self.read.reserved:  # a Workload with quota may not change its queue
            message = f"The job moved from LocalQueue {self.read.queue} to {queue}"
            return self._unreserve(self.inputs.observability.attempt(PENDING_EVALUATION), message)
        return [JobStep(patch(self.read, {"spec": {"queueName": queue or None}}, JOB_MANAGER))]

    def _running(self) -> list[JobStep] | None:
        if self.kind.suspended(self.job):
            return None
        if not self.entitled and self.sliced and has_start_labels(self.kind, self.job):
            return []  # pods that are not admitted wait at the gate of slices
        if not self.entitled:
            stop = _undone(self._stop("Not admitted by cluster queue"))
            return [*stop, *reported(self.kind, self.job, self.read, self.inputs, self.now)] if stop else []
        as_admitted = self.kind.runs_as_admitted(self.job, self.read, self.inputs)
        as_admitted = as_admitted and (not self.sliced or has_start_labels(self.kind, self.job))
        if not as_admitted:
            return _undone(self._stop("Not started as it was admitted"))
        adjusting = self.kind.adjusting(self.job, self.inputs)
        return [JobStep(adjusting)] if adjusting is not None else None

    def _start(self) -> list[JobStep]:
        if not (self.kind.quiet(self.job) or self._resumable()):
            return []
        if self.pods_run:
            return [JobStep(None, "WaitingForPods", "It starts when the Pods of its last run have ended")]
        try:
            start = self.kind.starting(self.job, self.read, self.inputs)
        except CannotStart as error:
            return self._finish(FAILED_TO_START, str(error))
        queue = self.read.admission.cluster_queue if self.read.admission else ""
        return _written(start, "Started", f"Admitted by clusterQueue {queue}")

    def _resumable(self) -> bool:
        """Whether the job may start while it has pods: its user suspended it, and its pod templates are as admitted."""
        as_admitted = self.kind.runs_as_admitted(self.job, self.read, self.inputs)
        return as_admitted and not self.inputs.counts_ending

    def _stop(self, message: str) -> list[JobStep]:
        """The next step until the job is suspended with its original pod templates."""
        return _written(self.kind.stopping(self.job, self.workload, self.read.reserved), "Stopped", message)

    def _stopped(self) -> bool:
        at_rest = self.kind.suspended(self.job) and not self.kind.halfway(self.job) and self.kind.quiet(self.job)
        return at_rest and not self.pods_run

    def _finish(self, reason: str, message: str) -> list[JobStep]:
        after = finish(self.read, reason, message, self.now)
        news = f"Workload '{self.read.key}' is declared finished"
        return self._status(after, condition_manager(FINISHED), "FinishedWorkload", news)

    def _status(self, after: Workload, manager: str, reason: str = "", message: str = "") -> list[JobStep]:
        action = status_patch(self.read, after, manager)
        return [JobStep(action, reason, message)] if action is not None else []
