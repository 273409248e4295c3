"""A look: a snapshot of a job or a Workload, with everything that its transitions depend on.

Guards say whether a condition holds, and change nothing. Methods named `writes_*`, and the other actions, return the
writes of a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from policies.dialects.reading import Manifest
from policies.model.objects import GroupKind
from reconciler.controllers.jobs.job_questions import JobQuestions
from reconciler.controllers.jobs.job_writes import WORKLOAD, about, at_rest, deletion, wanted
from reconciler.controllers.jobs.owners import Owners
from reconciler.controllers.jobs.record import Event, JobRecord, JobState, VisibleJob, WorkloadRecord
from reconciler.controllers.jobs.store import JobStore
from reconciler.controllers.slices.slicing import Slicing, carries
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy
from reconciler.jobs.composed import RequestCache
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import with_autoscaled_workers
from reconciler.jobs.life import child_steps, is_of_another, managed, orphaned, owner_not_found, steps
from reconciler.jobs.life import has_finalizer as holds_finalizer
from reconciler.jobs.step import JobInputs, JobStep
from reconciler.jobs.superseded import controller, disowned, disowned_by, has_owner, idle, in_use, may_go
from reconciler.objects.bypasses import RAN, Bypasses
from reconciler.objects.moments import whole_second
from reconciler.objects.wanted import WantedWrite, reference
from scheduling.objects.workload import JOB_UID, Workload
from scheduling.placement.group import PLACED_ON

GONE = (JobState.MISSING, JobState.REPLACED)


@dataclass(slots=True, eq=False)
class JobSurroundings:
    """What all looks share.

    `kinds`: the kinds of jobs by name.
    `others`: kinds of owners that another controller manages.
    `store`, `workloads`: the records, and the stored Workloads.
    `owners`: the owner graph.
    `slicing`: the slices of elastic jobs.
    `questions`: looks up jobs by name.
    `requested`: the requests of jobs, computed once for each.
    `inputs`: see `JobInputs`.
    """

    kinds: Mapping[str, JobKind]
    others: frozenset[GroupKind]
    store: JobStore
    owners: Owners
    workloads: StoredWorkloads
    slicing: Slicing
    questions: JobQuestions
    bypasses: Bypasses
    requested: RequestCache
    inputs: JobInputs

    def pods_run(self, workload: str) -> bool:
        """Whether visible Pods run on the quota of this Workload."""
        return any(map(self.store.pods_run, self.slicing.names(workload)))

    def leave(self, record: JobRecord) -> None:
        """Note that the job has left its Workload. It may have running Pods that are not visible yet."""
        visible = record.visible
        if visible is None or at_rest(self.kinds[record.id.kind], record.id, visible.packed):
            return
        self.leave_workload(visible.workload)

    def leave_workload(self, name: str) -> None:
        read = self.workloads.read(name)
        if read is not None and read.reserved and PLACED_ON not in read.conditions:
            self.store.workload(name).left = True


@dataclass(eq=False)
class JobLook:
    """A look at a job that a watch shows.

    `around`: what all looks share.
    `record`: the record of the job.
    `busy`: returns whether an object cannot be written now.
    `now`: nanoseconds.
    `entered`: whether the job has just entered its present state.
    """

    around: JobSurroundings
    record: JobRecord
    busy: Busy
    now: int
    entered: bool = False

    @property
    def visible(self) -> VisibleJob:
        assert self.record.visible is not None
        return self.record.visible

    @property
    def kind(self) -> JobKind:
        return self.around.kinds[self.record.id.kind]

    @cached_property
    def job(self) -> Manifest:
        return self.visible.packed.manifest()

    @cached_property
    def workload(self) -> tuple[Manifest | None, Workload | None]:
        """The manifest of the Workload that represents the job, and the Workload."""
        return self.around.workloads.with_manifest(self.visible.workload)

    @cached_property
    def top(self) -> JobRecord | None:
        return self.around.owners.top(self.record)

    @property
    def managed(self) -> bool:
        return managed(self.kind, self.job, self.around.inputs)

    @cached_property
    def owner_due(self) -> int | None:
        """The end of the wait for the job's controller to become visible; None if the job need not wait."""
        return self.around.owners.unseen(self.record, self.now)

    @cached_property
    def pods_due(self) -> int | None:
        """The end of the wait for Pods of a job that is being deleted to become visible; None if it need not wait."""
        if not self.visible.deleting:
            return None
        self.around.leave(self.record)
        return self.around.store.workload(self.visible.workload).pods_due(self.now)

    @property
    def due(self) -> int | None:
        """The time until which the job stays in its present state; None if it need not wait."""
        return self.owner_due if self.record.state is JobState.OWNER_UNSEEN else self.pods_due

    # --- guards

    def owner_unseen(self) -> bool:
        return self.owner_due is not None

    def pods_may_come(self) -> bool:
        return self.pods_due is not None

    def pods_terminate(self) -> bool:
        return self.visible.deleting and self.around.pods_run(self.visible.workload)

    def workload_disowned(self) -> bool:
        _, read = self.workload
        return read is not None and disowned_by(read, self.record.id.uid)

    def deleting_and_disowned(self) -> bool:
        return self.visible.deleting and self.workload_disowned()

    def disowned_and_unconfirmed(self) -> bool:
        return self.workload_disowned() and not self.record.confirmed

    def owned(self) -> bool:
        return self.top is not None

    def owner_missing(self) -> bool:
        return self.workload[1] is None and self.around.owners.missing(self.record)

    def unqueued(self) -> bool:
        return not self.managed

    def deleting(self) -> bool:
        return self.visible.deleting

    def always(self) -> bool:
        return True

    # --- writes

    def writes_nothing(self) -> Iterator[WantedWrite]:
        yield from ()

    def asks(self) -> Iterator[WantedWrite]:
        """Look the job up once, when it enters the state. A watch reports all later changes."""
        if self.entered:
            self.around.questions.ask(self.record.id)
        yield from ()

    def writes_end_of_workload(self) -> Iterator[WantedWrite]:
        yield from map(self._wanted, owner_not_found(*self.workload, self.around.inputs, whole_second(self.now)))

    def writes_of_child(self) -> Iterator[WantedWrite]:
        """The writes of a child job. It may run while the job above it is admitted."""
        above = self.top
        assert above is not None
        assert above.visible is not None
        slicing, top = self.around.slicing, self.around.kinds[above.id.kind]
        gated = slicing.waits(self.kind, self.job) or slicing.waits(top, above.visible.packed.manifest())
        admitted = carries(self.around.workloads.read(above.visible.workload), gated=gated)
        yield from self._reported(child_steps(self.kind, self.job, admitted))

    def writes_stop(self) -> Iterator[WantedWrite]:
        yield from self._reported(child_steps(self.kind, self.job, False))
        if self.managed and not self.visible.deleting:
            yield from self._superseded()

    def writes_life(self) -> Iterator[WantedWrite]:
        """The steps of a queued job, and of its other slices and Workloads."""
        inputs, moment = self.around.inputs, whole_second(self.now)
        asked = self.around.requested.work
        found = steps(self.kind, self.job, *self.workload, inputs, moment, asked, pods_run=self._in_use)
        yield from self._reported(found)
        if not self.managed or self.visible.deleting:
            return
        children = self.around.owners.gated_children(self.record)
        clusters = (child.visible.packed.manifest() for child in children if child.visible is not None)
        job = with_autoscaled_workers(self.kind, self.job, clusters)
        for name, step in self.around.slicing.steps(self.kind, job, inputs, self.busy, moment):
            yield wanted(self.kind, self.record.id.key, self.record.id.uid, name, step)
        yield from self._superseded()

    @property
    def _in_use(self) -> bool:
        """Whether Pods use the quota of the Workload. The job's status may show them before a watch does."""
        in_use = self.around.pods_run(self.visible.workload) or self.kind.terminating(self.job)
        return self.around.inputs.counts_ending and in_use

    def _reported(self, found: list[JobStep]) -> Iterator[WantedWrite]:
        note = self.around.bypasses.seen if any(step.undoes for step in found) else self.around.bypasses.end
        note(self.record.id.key, RAN, self.now)
        yield from map(self._wanted, (*found, *self.around.owners.warnings(self.record)))

    def _wanted(self, step: JobStep) -> WantedWrite:
        return wanted(self.kind, self.record.id.key, self.record.id.uid, self.visible.workload, step)

    def _superseded(self) -> Iterator[WantedWrite]:
        """Delete the job's Workloads that do not represent it, so that they get no quota."""
        workloads, chosen = self.around.workloads, self.around.workloads.read(self.visible.workload)
        for name in [*self.record.workloads]:
            other = workloads.read(name)
            if name == self.visible.workload or other is None or self.busy(WORKLOAD, name):
                continue
            if (self.visible.elastic and other.elastic) or workloads.controller(name) != self.record.id.uid:
                continue
            if may_go(other, self.kind, self.job, chosen, self.around.inputs):
                reported = about(self.kind, self.record.id.key, self.record.id.uid)
                message = f"Deleted not matching Workload: {name}"
                yield WantedWrite((WORKLOAD, name), deletion(other), reported, "DeletedWorkload", message)


@dataclass(eq=False)
class HiddenLook:
    """A look at a job that no watch shows."""

    around: JobSurroundings
    record: JobRecord

    # --- guards

    def always(self) -> bool:
        return True

    def workload_depends(self) -> bool:
        """Whether a Workload that the job controls has quota, or may get some."""
        return bool(self._dependents)

    # --- writes

    def writes_nothing(self) -> None:
        """Nothing to do, because no decision depends on the job."""

    def asks(self) -> None:
        """Look the job up. If it is gone, some of its Pods may not be visible yet."""
        self.around.questions.ask(self.record.id)
        for name in self._dependents if not self.record.idle else ():
            self.around.leave_workload(name)

    def concludes(self) -> None:
        """Look at the job's Workloads, now that the response is known. The job may have created Pods just before it."""
        for name in self.record.workloads:
            self.around.store.workload(name).left_at = None
            self.around.store.stale_workloads[name] = None

    @cached_property
    def _dependents(self) -> list[str]:
        found = []
        for name in self.record.workloads:
            manifest, read = self.around.workloads.with_manifest(name)
            if manifest is None or read is None or controller(manifest) != self.record.id.uid or read.deleting:
                continue
            if not read.finished or holds_finalizer(manifest):
                found.append(name)
        return found


@dataclass(eq=False)
class WorkloadLook:
    """A look at a Workload, used if it may be that it represents no visible job. `now` is in nanoseconds."""

    around: JobSurroundings
    name: str
    now: int

    @cached_property
    def record(self) -> WorkloadRecord:
        return self.around.store.workload(self.name)

    @cached_property
    def read(self) -> Workload | None:
        return self.around.workloads.read(self.name)

    @cached_property
    def manifest(self) -> Manifest:
        return self.around.workloads.manifest(self.name) or {}

    # --- guards

    def gone(self) -> bool:
        return self.read is None

    def pods_may_come(self) -> bool:
        return self.pods_due is not None

    def pods_run(self) -> bool:
        return not self._workload.finished and self.around.pods_run(self.name)

    def unused_for_long(self) -> bool:
        return self._overdue and self._unused

    def in_use_for_long(self) -> bool:
        return self._overdue and not self._unused

    def represents_a_job(self) -> bool:
        """Whether the Workload represents a visible job. The job may also name the Workload of another job."""
        jobs = [self.around.store.visible[key].id.uid for key in self.record.jobs]
        owner = controller(self.manifest) if jobs else ""
        return not all(is_of_another(self._workload, owner, uid) for uid in jobs)

    def undecided(self) -> bool:
        return not self._workload.deleting and not self.job_is_gone()

    def of_other_controllers(self) -> bool:
        return has_owner(self.manifest, self.around.others)

    def in_use(self) -> bool:
        owner = self.owner
        if owner is None or owner.visible is None:
            return False
        kind, chosen = self.around.kinds[owner.id.kind], self.around.workloads.read(owner.visible.workload)
        return in_use(self._workload, kind, owner.visible.packed.manifest(), chosen, self.around.inputs)

    def job_is_replaced(self) -> bool:
        replaced = self.owner is not None and self.owner.state is JobState.REPLACED
        return replaced and not self._workload.deleting

    def job_is_gone(self) -> bool:
        if disowned(self._workload):
            return self._workload.labels[JOB_UID] not in self.around.store.by_uid
        missing = any(owner.state in GONE for owner in self._owners)  # rarely true, so that few manifests are unpacked
        return missing and self.owner is not None and self.owner.state in GONE

    def always(self) -> bool:
        return True

    # --- writes

    def writes_nothing(self) -> Iterator[WantedWrite]:
        yield from ()

    def deletes_unused(self) -> Iterator[WantedWrite]:
        read, message = self._workload, "Deleted Workload: its job is gone, or is not queued any more"
        yield WantedWrite((WORKLOAD, self.name), deletion(read), reference(read), "Deleted", message)

    def asks_again(self) -> Iterator[WantedWrite]:
        """Look the job up again later, because no watch reports the end of a job that it does not show."""
        if self.owner is not None and self.owner.visible is None:
            why = "its Workload has been in use for long, and no watch shows it"
            self.around.store.enter(self.owner, JobState.UNRESOLVED, Event.STILL_IN_USE, why)
        elif self.owner is not None:
            self.around.store.wait_no_more(self.owner)
        yield from ()

    def waits_for_job(self) -> Iterator[WantedWrite]:
        """Look at the Workload again when the job changes."""
        if self.owner is not None:
            self.owner.used = tuple({*self.owner.used, self.name})
        yield from ()

    def deletes_replaced(self) -> Iterator[WantedWrite]:
        yield WantedWrite((WORKLOAD, self.name), deletion(self._workload))

    def finishes(self) -> Iterator[WantedWrite]:
        yield from self._written(owner_not_found(self.manifest, self.read, self.around.inputs, whole_second(self.now)))

    def releases(self) -> Iterator[WantedWrite]:
        yield from self._written(orphaned(self.manifest, self.read))

    def _written(self, found: list[JobStep]) -> Iterator[WantedWrite]:
        yield from (WantedWrite((WORKLOAD, self.name), step.action) for step in found)

    # --- what the guards depend on

    @cached_property
    def pods_due(self) -> int | None:
        """The end of the wait for Pods that use the Workload's quota to become visible; None if no more will."""
        return self.record.pods_due(self.now)

    @property
    def _workload(self) -> Workload:
        assert self.read is not None
        return self.read

    @property
    def _owners(self) -> Iterator[JobRecord]:
        return map(self.around.store.jobs.__getitem__, self.record.owners)

    @cached_property
    def owner(self) -> JobRecord | None:
        """The job that is the Workload's controller, visible or not."""
        uid = controller(self.manifest)
        return next((owner for owner in self._owners if owner.id.uid == uid), None)

    @cached_property
    def _overdue(self) -> bool:
        """Whether a job of the Workload has been invisible or unqueued for long. It is not known whether it is gone."""
        if self._workload.finished or self._workload.deleting:
            return False
        late = [owner for owner in self._owners if self.around.store.is_overdue(owner, self.now)]
        return bool(late) and (self.owner is None or (self.owner in late and self.owner.state not in GONE))

    @cached_property
    def _unused(self) -> bool:
        """Whether no Pod uses the Workload's quota, as far as its job shows."""
        owner = self.owner
        if owner is None:
            return False
        if owner.visible is None:
            return not self._workload.reserved or owner.idle
        kind, job = self.around.kinds[owner.id.kind], owner.visible.packed.manifest()
        return not managed(kind, job, self.around.inputs) and (not self._workload.reserved or idle(kind, job))
