"""The controller of jobs: it observes changes, and runs each job through its transitions.

The manifests of jobs and Workloads are kept packed, because only a look at an object needs all of its fields.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from policies.amounts.requests import template_requests, total
from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, metadata, text
from policies.model.objects import GroupKind
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.controllers.jobs.job_questions import JobQuestions
from reconciler.controllers.jobs.job_writes import WORKLOAD, about, at_rest, awaited
from reconciler.controllers.jobs.kept_pods import CountSurplus, KeptPods
from reconciler.controllers.jobs.looks import GONE, HiddenLook, JobLook, JobSurroundings, WorkloadLook
from reconciler.controllers.jobs.owners import Owners
from reconciler.controllers.jobs.record import Event, JobId, JobRecord, JobState, VisibleJob
from reconciler.controllers.jobs.started_pods import STARTED_PODS
from reconciler.controllers.jobs.store import JobStore
from reconciler.controllers.jobs.transitions import HIDDEN, SHOWN, WORKLOADS
from reconciler.controllers.jobs.watched_jobs import watched_jobs
from reconciler.controllers.slices.slicing import Slicing
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy, Controller, Lookup, WakeAt, Wanted
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import RequestCache
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import all_pods_gated, waits_for_slice
from reconciler.jobs.step import JobInputs
from reconciler.jobs.superseded import disowned
from reconciler.objects.bypasses import RAN, Bypasses
from reconciler.objects.observed import Key, Observed
from reconciler.objects.packed import Packed
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.submission import queue_of

log = logging.getLogger(__name__)


def _ignore(workload: str, pods: Mapping[str, int]) -> None:
    """The default without an engine that counts these pods."""


class JobsController(Controller):
    """Runs the transitions of jobs.

    `kinds`: the kinds of jobs to manage.
    `others`: kinds of owners whose Workloads another controller manages, even after the owner is gone.
    `every`: whether jobs that name no queue are managed, too.
    `elastic`: whether elastic jobs are supported.
    `counts_ending`: see `JobInputs`.
    `count_surplus`: see `KeptPods`.
    """

    def __init__(
        self,
        stored: Lookup,
        kinds: Iterable[JobKind] = (BATCH,),
        others: Iterable[GroupKind] = (),
        *,
        every: bool = False,
        elastic: bool = False,
        bypasses: Bypasses | None = None,
        counts_ending: bool = True,
        count_surplus: CountSurplus = _ignore,
    ) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._described = {kind.shape.kind: kind for kind in self._kinds.values()}
        self._every = every
        views = watched_jobs(self._kinds.values(), every=every)
        self._views = {view.kind: view for view in views}
        self.watched = (*views, STARTED_PODS)
        self.store = JobStore(self._described)
        self._workloads = StoredWorkloads(stored)
        self._owners, self._questions, self._errors = Owners(self.store), JobQuestions(), InternalErrors()
        self._slicing = Slicing(self._workloads, self.store, enabled=elastic)
        self._bypasses = Bypasses() if bypasses is None else bypasses
        self._counts_ending = counts_ending
        self._kept = KeptPods(self.store, self._workloads, self._bypasses, count_surplus, counts_ending=counts_ending)
        self._around = JobSurroundings(
            self._kinds,
            frozenset(others),
            self.store,
            self._owners,
            self._workloads,
            self._slicing,
            self._questions,
            self._bypasses,
            RequestCache(),
            JobInputs(child=self._belongs, elastic=elastic, counts_ending=counts_ending),
        )

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        key = observed.key
        if key[0] == STARTED_PODS.kind:
            self._pod_ends(self._kept.observe(observed))
            return
        packed = self._views[key[0]].value(observed)
        read = self._read(key, packed) if packed is not None else None
        before = self.store.visible.get(key)
        if before is not None and (read is None or read[0] != before.id):
            self._hide(before)
        if read is None:
            self.store.stale.pop(key, None)
            self.store.renewed.pop(key, None)
            self._errors.forget(key)
            self._bypasses.gone(key, RAN)
        else:
            self._show(self.store.job(read[0]), read[1])

    def _show(self, record: JobRecord, visible: VisibleJob) -> None:
        before = record.visible
        if before is None:
            record.exists, record.idle = None, False
            self.store.wait_no_more(record)
            self.store.enter(record, JobState.SHOWN, Event.SHOWN, "a watch shows it, and it has not been looked at yet")
        elif before.workload != visible.workload:
            self._leave_workload(record, before)
        self.store.show(record, visible)
        self._kept.workload_changed(visible.workload)
        self.store.stale[record.id.key] = None
        self._relatives_are_stale(record)

    def _hide(self, record: JobRecord) -> None:
        self._relatives_are_stale(record)
        before = record.visible
        if before is not None:
            record.exists, record.idle = None, at_rest(self._kinds[record.id.kind], record.id, before.packed)
            self._leave_workload(record, before)
        self.store.enter(record, JobState.UNRESOLVED, Event.HIDDEN, "no watch shows it any more")
        self.store.hide(record)

    def _leave_workload(self, record: JobRecord, before: VisibleJob) -> None:
        """The Workload no longer represents the job, because the job is gone or has another Workload."""
        self.store.begin_look(record)
        if self._workloads.read(before.workload) is not None:
            self.store.stale_workloads[before.workload] = None
            self._around.leave(record)

    def _relatives_are_stale(self, record: JobRecord) -> None:
        for each in (*self._owners.below(record), *self._owners.beside(record)):
            self.store.stale[each.id.key] = None

    def found(self, observed: Observed[object]) -> None:
        view = self._views.get(observed.key[0])
        if view is None:
            self._pod_ends(self._kept.found(observed))
            return
        self.store.stale[observed.key] = None
        packed = view.value(observed)
        meta = metadata(packed.manifest()) if packed is not None else {}
        for job in self._questions.answered(observed.key):
            if packed is None:
                self._answered(job, Event.FOUND)  # the object exists, but is not readable
            elif text(meta.get("uid")) != job.uid:
                self._answered(job, Event.FOUND_ANOTHER)
            elif (record := self.store.jobs.get(job)) is not None:
                record.confirmed |= not meta.get("deletionTimestamp")
                record.idle = at_rest(self._kinds[job.kind], job, packed)
                self._answered(job, Event.FOUND)

    def gone(self, key: Key) -> None:
        if key[0] == STARTED_PODS.kind:
            self._pod_ends(self._kept.gone(key[1]))
        for job in self._questions.answered(key):
            self._answered(job, Event.NOT_FOUND)

    def _answered(self, job: JobId, answer: Event) -> None:
        record = self.store.jobs.get(job)
        if record is None:
            return
        record.exists = answer is not Event.NOT_FOUND
        self.store.stale.update(dict.fromkeys(child.key for child in record.children))
        self._happens(record, answer)

    def _happens(self, record: JobRecord, event: Event) -> None:
        """Handle an event of a job that no watch shows."""
        if record.visible is not None:
            return
        look = HiddenLook(self._around, record)
        for each in HIDDEN:
            if event is each.event and record.state in each.at and each.guard(look):
                self.store.enter(record, each.then, event, each.why)
                each.does(look)
                return

    def workload_changed(self, workload: str) -> None:
        read = self._workloads.read(workload)
        before = self.store.owners(workload)
        named = self.store.own(workload, read)
        self._slicing.chains.put(workload, read)
        self._kept.workload_changed(workload)
        owners = self.store.owners(workload)
        for job in dict.fromkeys((*before, *owners)):
            self._slice_changed(self.store.jobs.get(job))
        represented_by = [self.store.visible[key] for key in self.store.represented_by(workload)]
        for record in represented_by:
            self.store.stale[record.id.key] = None
            self.store.stale.update(dict.fromkeys(child.id.key for child in self._owners.below(record)))
        if read is None:
            self.store.forget_workload(workload)
            self._errors.forget((WORKLOAD, workload))
            return
        for record in represented_by if not disowned(read) else ():
            record.confirmed = False
        for record in map(self.store.jobs.__getitem__, owners):
            if record.visible is not None:
                self.store.stale[record.id.key] = None
            elif record.id in named:
                self._named(record, workload)
        if read.deleting or disowned(read):
            self.store.stale_workloads[workload] = None

    def _named(self, record: JobRecord, workload: str) -> None:
        """A Workload now names a job as its owner that no watch shows."""
        self._happens(record, Event.NAMED)
        if record.state in GONE:
            self.store.stale_workloads[workload] = None

    def _slice_changed(self, record: JobRecord | None) -> None:
        """A slice of the job has changed. Another slice may represent the job now, or the job may need a step."""
        if record is None or record.visible is None or not record.visible.moves:
            return
        self.store.stale[record.id.key] = None
        now = self._read(record.id.key, record.visible.packed)
        if now is not None:
            self.store.show(record, now[1])

    def _pod_ends(self, workload: str | None) -> None:
        """A Pod of this Workload has ended. Its job, or the slices of an elastic job, may have waited for that."""
        if workload is None or (self.store.pods_run(workload) and workload not in self._slicing.chains):
            return
        for name in self._slicing.chains.of(workload):
            self.store.stale.update(dict.fromkeys(self.store.represented_by(name)))
            if self._workloads.read(name) is not None:
                self.store.stale_workloads[name] = None

    def inputs_changed(self, inputs: JobInputs) -> None:
        self._around.inputs = replace(
            inputs, child=self._belongs, elastic=self._slicing.enabled, counts_ending=self._counts_ending
        )
        self.store.renew_all()

    def wake(self, item: Key) -> None:
        if item[0] == WORKLOAD:
            self.store.stale_workloads[item[1]] = None
        elif item[0] == STARTED_PODS.kind:
            self._kept.wake(item[1])
        else:
            self.store.stale[item] = None

    # --- how a job is read

    def _belongs(self, job: Manifest) -> bool:
        record = self.store.by_uid.get(text(metadata(job).get("uid")) or "")
        return record is not None and self._owners.top(record) is not None

    def _read(self, key: Key, packed: Packed) -> tuple[JobId, VisibleJob] | None:
        """Read a job; None if it cannot be read. Such a job is ignored."""
        try:
            job = packed.manifest()
            return JobId(*key, text(metadata(job).get("uid")) or ""), self._visible(self._kinds[key[0]], job, packed)
        except Exception:
            log.exception("%s %s cannot be read, and is left out", *key)
            return None

    def _visible(self, kind: JobKind, job: Manifest, packed: Packed) -> VisibleJob:
        meta, elastic = metadata(job), self._slicing.concerns(kind, job)
        namespace, deleting = text(meta.get("namespace")) or "", bool(meta.get("deletionTimestamp"))
        pod_sets, grows = list(kind.shape.pods_of(job)), self._slicing.waits(kind, job)
        gated = [each for each in pod_sets if grows and waits_for_slice(each.template)]
        own = [each for each in pod_sets if each.name in kind.shape.own_sets]
        return VisibleJob(
            packed=packed,
            workload=self._slicing.workload_of(kind, job),
            deleting=deleting,
            elastic=elastic,
            moves=elastic or self._slicing.renamed(kind, job),
            local_queue=f"{namespace}/{queue_of(job) or ''}",
            owner=self._owner(namespace, kind, job),
            queued=(self._every or bool(queue_of(job))) and not kind.shape.leaves_out(job),
            running=not (kind.suspended(job) or kind.ending(job) or deleting),
            created=(text(meta.get("creationTimestamp")) or "", text(meta.get("name")) or ""),
            requests=total(template_requests(each.counted, each.count) for each in pod_sets),
            generations=kind.shape.generations,
            gated=all_pods_gated(kind, job),
            grows=grows,
            slice_requests=total(template_requests(each.counted, each.count) for each in gated),
            own_requests=total(template_requests(each.counted, each.count) for each in own),
        )

    def _owner(self, namespace: str, kind: JobKind, job: Manifest) -> JobId | None:
        """The controller of the job; None if it is not a known job, or of a kind that does not make such children."""
        above = controller_of(metadata(job))
        over = self._described.get(above.kind) if above is not None else None
        if above is None or over is None or not above.uid or not over.shape.may_make(kind.shape.kind):
            return None
        return JobId(over.name, f"{namespace}/{above.name}", above.uid)

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """The next step of each job that may need one. A job whose Workload is being written has to wait."""
        self._bypasses.turn(now)
        self.store.stamp(now)
        self.store.renew_some()
        for job in [*self.store.unresolved]:
            self._happens(self.store.jobs[job], Event.LOOK)
        yield from self._questions.requests(busy)
        yield from self._kept.reconcile(busy, now)
        stale, self.store.stale = self.store.stale, {}
        for key in stale:
            record = self.store.visible.get(key)
            if record is not None and record.visible is not None:
                yield from self._look_at(record, record.visible, busy, now)
        self.store.come_due(now)
        workloads, self.store.stale_workloads = self.store.stale_workloads, {}
        for name in workloads:
            yield from self._look_at_workload(name, busy, now)
        self.store.stamp(now)
        yield from self._questions.requests(busy)

    def _look_at(self, record: JobRecord, visible: VisibleJob, busy: Busy, now: int) -> Iterator[Wanted]:
        key = record.id.key
        self.store.begin_look(record)
        there = self._workloads.read(visible.workload) is not None
        reported = about(self._kinds[key[0]], key, record.id.uid)
        look = partial(self._job_writes, record, busy, now)
        yield from self._errors.attempt(key, awaited(key, visible, there=there), look, reported, busy, now)
        if record.due is not None:
            yield WakeAt(key, record.due)

    def _job_writes(self, record: JobRecord, busy: Busy, now: int) -> Iterator[WantedWrite]:
        look = JobLook(self._around, record, busy, now)
        self._ask_for_owner(look)
        chosen = next(each for each in SHOWN if each.guard(look))
        look.entered = self.store.enter(record, chosen.then, Event.LOOK, chosen.why)
        record.due = look.due
        if chosen.then in (
            JobState.OWNED,
            JobState.OWNER_MISSING,
            JobState.UNQUEUED,
            JobState.TERMINATING,
            JobState.QUEUED,
        ):
            if look.managed:
                self.store.wait_no_more(record)
            else:
                self.store.wait(record, now)
        yield from chosen.writes(look)

    def _ask_for_owner(self, look: JobLook) -> None:
        """Look up the job's owner, if the job has waited for it long enough and it is not known to exist."""
        owner = self._owners.above(look.record)
        if owner is not None and owner.visible is None and owner.exists is None and look.owner_due is None:
            self._happens(owner, Event.NEEDED)

    def _look_at_workload(self, name: str, busy: Busy, now: int) -> Iterator[Wanted]:
        look, item = WorkloadLook(self._around, name, now), (WORKLOAD, name)
        yield from self._errors.attempt(item, (item,), partial(self._workload_writes, look), None, busy, now)
        if look.pods_due is not None:
            yield WakeAt(item, look.pods_due)
        self.store.tidy_workload(name)

    def _workload_writes(self, look: WorkloadLook) -> Iterator[WantedWrite]:
        chosen = next(each for each in WORKLOADS if each.guard(look))
        look.record.state, look.record.why = chosen.then, chosen.why
        yield from chosen.writes(look)
