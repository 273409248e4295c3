"""Jobs, of all kinds that are on: which of them are to be looked at, and what is written for them.

A job and its Workload are kept packed, since only a step needs the whole of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import Manifest, metadata, text
from policies.model.objects import GroupKind
from reconciler.controllers.halting import Halting
from reconciler.controllers.held_jobs import Held, about, at_rest, awaited, deletion, wanted
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.controllers.owners.job_questions import JobQuestions
from reconciler.controllers.owners.jobless import Jobless, State
from reconciler.controllers.owners.kinship import Kinship, relative
from reconciler.controllers.owners.orphans import Orphans, has_owner, is_owned, last, ownerless
from reconciler.controllers.owners.ownership import Named, Owned
from reconciler.controllers.remains import STARTED_PODS, Remains
from reconciler.controllers.slices.slicing import Slicing, carries
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.controllers.watched_jobs import watched_jobs
from reconciler.core.controller import Busy, Controller, Lookup, WakeAt, Wanted
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import AskedBefore
from reconciler.jobs.elastic import grown
from reconciler.jobs.kind import JobKind
from reconciler.jobs.life import child_steps, managed, orphaned, owner_not_found, steps
from reconciler.jobs.step import JobInputs
from reconciler.jobs.superseded import controller, idle, in_use, may_go
from reconciler.objects.bypasses import Bypasses
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.packed import Packed
from reconciler.objects.wanted import WantedWrite, reference
from scheduling.objects.submission import queue_of
from scheduling.objects.times import SECOND
from scheduling.objects.workload import JOB_UID, Workload
from scheduling.placement.group import PLACED_ON

log = logging.getLogger(__name__)
_WORKLOAD = "Workload"
_PATIENCE = 60 * SECOND
"""A kind that is not served for a moment is looked for again sooner than that."""

_AT_ONCE = 250
"""Jobs in one round that something around them changed for: about a fifth of a second."""


class JobsController(Controller):
    """`kinds` are those of its jobs. `others`: kinds whose Workloads another controller looks after, also when their
    owner is gone. `every`: jobs that name no queue are managed, too.
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
    ) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._others = frozenset(others)
        self._described = {kind.shape.kind: kind for kind in self._kinds.values()}
        self._every = every
        self.watched = (*watched_jobs(self._kinds.values(), every=every), STARTED_PODS)
        self.inputs = JobInputs(child=self._belongs, elastic=elastic)
        self._stored, self._workloads = stored, StoredWorkloads(stored)
        self._jobs: dict[Key, Held] = {}
        self._by_uid: dict[str, Key] = {}
        self._asked, self._named = AskedBefore(), Named()
        self._owned = Owned(frozenset(self._described))
        self._dirty: dict[Key, None] = {}
        self._renewed: dict[Key, None] = {}
        self._loose: dict[str, None] = {}
        self._using: dict[Key, dict[str, None]] = {}
        self._jobless = Jobless(_PATIENCE)
        self._questions = JobQuestions()
        self._kin = Kinship(self._questions)
        self._remains, self._errors = Remains(), InternalErrors()
        self._slicing = Slicing(stored, self._owned, self._remains, enabled=elastic)
        self._orphans = Orphans(self._questions)
        self._halting = Halting(Bypasses() if bypasses is None else bypasses)

    def observe(self, observed: Observed) -> None:
        key = observed.key
        if key[0] == STARTED_PODS.kind:
            self._pods_end(self._remains.observe(observed))
            return
        before = self._jobs.pop(key, None)
        held = self._held(key, observed.value) if observed.value is not None else None
        if before is not None and (held is None or (before.workload, before.uid) != (held.workload, held.uid)):
            self._part(key, before)
        if held is None:
            self._dirty.pop(key, None)
            self._renewed.pop(key, None)
            self._errors.forget(key)
            self._dirty.update(dict.fromkeys((*self._kin.below(key), *self._kin.beside(key))))
            self._kin.forget(key)
            self._halting.gone(key)
            return
        self._jobs[key] = held
        self._by_uid[held.uid] = key
        self._named.add(held.workload, key)
        self._dirty[key] = None
        self._relate(key, held)
        for workload in self._owned.of(held.uid):
            self._jobless.leave(workload)

    def found(self, observed: Observed) -> None:
        if observed.key[0] not in self._kinds:
            return  # a Pod that was written meanwhile
        asked = self._questions.answered(observed.key)
        self._dirty.update(dict.fromkeys((observed.key, *self._kin.answered(asked, there=True))))
        if observed.value is not None:
            meta = metadata(observed.value.manifest())
            self._lost(observed.key, self._orphans.gone(asked, meta), replaced=True)

    def gone(self, key: Key) -> None:
        if key[0] not in self._kinds:
            return  # a Pod that is no more
        asked = self._questions.answered(key)
        self._dirty.update(dict.fromkeys(self._kin.answered(asked, there=False)))
        self._lost(key, asked, replaced=False)

    def _lost(self, job: Key, uids: Iterable[str], *, replaced: bool) -> None:
        """There are no such jobs under this name any more. Others may have written their uids beside other names."""
        kind = self._kinds[job[0]].shape.kind
        for uid in uids:
            for name in self._owned.of(uid) if uid not in self._by_uid else ():
                read = self._workloads.read(name)
                if read is not None and is_owned(read, kind, job[1], uid):
                    self._jobless.settled(name, replaced=replaced)
                    self._loose[name] = None

    def _relate(self, key: Key, held: Held) -> None:
        """What others may be to it, and it to them."""
        kind, job = self._kinds[key[0]], held.packed.manifest()
        queued, above = self._every or bool(queue_of(job)), controller_of(metadata(job))
        grows = self._slicing.waits(kind, job)
        self._kin.put(key, relative(kind, job, above, self._described, queued=queued, grows=grows))
        self._dirty.update(dict.fromkeys((*self._kin.below(key), *self._kin.beside(key))))

    def _belongs(self, job: Manifest) -> bool:
        return self._kin.top(text(metadata(job).get("uid")) or "") is not None

    def _pods_end(self, workload: str | None) -> None:
        """A Pod has gone: the last of this Workload, or one that the slices of an elastic job may wait for."""
        if workload is None or (self._remains.running(workload) and workload not in self._slicing.chains):
            return
        for name in self._slicing.chains.of(workload):
            if self._stored(name) is not None:
                self._loose[name] = None
                self._dirty.update(dict.fromkeys(self._named.jobs(name)))

    def _held(self, key: Key, packed: Packed) -> Held | None:
        try:
            kind, job = self._kinds[key[0]], packed.manifest()
            workload, sliced = self._slicing.workload_of(kind, job), self._slicing.concerns(kind, job)
            uid, going = text(metadata(job).get("uid")) or "", bool(metadata(job).get("deletionTimestamp"))
            queue = f"{key[1].partition('/')[0]}/{queue_of(job) or ''}"
            return Held(packed, workload, uid, going, sliced, sliced or self._slicing.renamed(kind, job), queue)
        except Exception:
            log.exception("%s %s cannot be read, and is left out", *key)
            return None

    def _part(self, key: Key, held: Held) -> None:
        """The job is gone, or another Workload stands for it."""
        self._named.remove(held.workload, key)
        if self._by_uid.get(held.uid) == key:
            del self._by_uid[held.uid]
        self._loose.update(self._using.pop(key, {}))
        for workload in self._owned.of(held.uid):
            self._jobless.parted(workload, idle=at_rest(self._kinds[key[0]], held))
        if self._stored(held.workload) is not None:
            self._loose[held.workload] = None
            self._leave(key, held)

    def _leave(self, key: Key, held: Held) -> None:
        """It goes, and Pods of it that run here may not be in sight yet."""
        read = self._workloads.read(held.workload)
        if (
            read is not None
            and read.reserved
            and PLACED_ON not in read.conditions
            and not at_rest(self._kinds[key[0]], held)
        ):
            self._remains.leave(held.workload)

    def workload_changed(self, workload: str) -> None:
        found = self._stored(workload)
        before, read = self._owned.owners(workload), found.value if found is not None else None
        self._owned.put(workload, read)
        self._slicing.chains.put(workload, read)
        for uid in {*before, *self._owned.owners(workload)}:
            self._slice_changed(self._by_uid.get(uid))
        for job in self._named.jobs(workload):
            self._dirty[job] = None
            self._dirty.update(dict.fromkeys(self._kin.below(job)))
        if found is None:
            self._remains.forget(workload)
            self._loose.pop(workload, None)
            self._jobless.leave(workload)
            self._errors.forget((_WORKLOAD, workload))
            return
        self._orphans.changed(found.value, self._named.jobs(workload))
        for uid in self._owned.owners(workload):
            owner = self._by_uid.get(uid)
            if owner is not None:
                self._dirty[owner] = None
            else:
                self._jobless.unseen(workload)
        if (found.value.deleting or ownerless(found.value)) and workload not in self._named:
            self._loose[workload] = None

    def _slice_changed(self, key: Key | None) -> None:
        """A slice of the job has changed: maybe that one stands for it now, or it has to look at it."""
        held = self._jobs.get(key) if key is not None else None
        if key is None or held is None or not held.moves:
            return
        self._dirty[key] = None
        now = self._held(key, held.packed)
        if now is not None and now.workload != held.workload:
            self._named.remove(held.workload, key)
            self._jobs[key] = now
            self._named.add(now.workload, key)

    def inputs_changed(self, inputs: JobInputs) -> None:
        self.inputs = replace(inputs, child=self._belongs, elastic=self._slicing.enabled)
        self._renewed.update(dict.fromkeys(self._jobs))

    def wake(self, item: Key) -> None:
        if item[0] == _WORKLOAD:
            self._loose[item[1]] = None
        else:
            self._dirty[item] = None

    # --- what is to be written

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """The next step of each job that may have one; none while its Workload is being written."""
        self._halting.turn(now)
        self._renew_some()
        self._seek_unseen()
        yield from self._questions.sent(self._kinds, busy)
        dirty, self._dirty = self._dirty, {}
        for key in dirty:
            self._loose.update(self._using.pop(key, {}))
            held = self._jobs.get(key)
            if until := self._kin.wait(key, now) or self._goes(key, held, now):
                yield WakeAt(key, until)
            elif held is not None:
                look = partial(self._steps, key, held, busy, now)
                there = self._stored(held.workload) is not None
                keys, concerned = awaited(key, held, there=there), about(self._kinds[key[0]], key, held.uid)
                yield from self._errors.attempt(key, keys, look, concerned, busy, now)
        names, self._loose = {**self._loose, **dict.fromkeys(self._jobless.due(now))}, {}
        for name in names:
            item = (_WORKLOAD, name)
            if until := self._remains.wait(name, now):
                yield WakeAt(item, until)
            else:
                yield from self._errors.attempt(item, (item,), partial(self._let_go, name, now), None, busy, now)
        yield from self._questions.sent(self._kinds, busy)

    def _renew_some(self) -> None:
        """Where all jobs are to be looked at again, each turn looks at some of them, so that others need not wait."""
        for key in [*islice(self._renewed, _AT_ONCE)]:
            del self._renewed[key]
            self._dirty[key] = None

    def _seek_unseen(self) -> None:
        for read, job, uid in self._jobless.unresolved(self._workloads, self._described):
            if uid not in self._by_uid:
                if read.reserved and PLACED_ON not in read.conditions and not self._jobless.idle(read.key):
                    self._remains.leave(read.key)
                self._questions.seek(job, uid)

    def _goes(self, key: Key, held: Held | None, now: int) -> int | None:
        """Until when its Workload stays at least, where it is being deleted and may have Pods."""
        if held is None or not held.going:
            return None
        self._leave(key, held)
        return self._remains.wait(held.workload, now)

    def _steps(self, key: Key, held: Held, busy: Busy, now: int) -> Iterator[WantedWrite]:
        kind, job = self._kinds[key[0]], held.packed.manifest()
        whole, read = self._workloads.whole(held.workload)
        if held.going and self._runs(held.workload):
            return
        if read is not None and self._orphans.lost(read, held.uid, going=held.going):
            ended = owner_not_found(whole, read, self.inputs, whole_second(now)) if held.going else []
            yield from (wanted(kind, key, held.uid, held.workload, step) for step in ended)
            return
        above = self._kin.top(held.uid)
        found = steps(kind, job, whole, read, self.inputs, whole_second(now), self._asked.asked)
        if above is None and read is None and self._kin.lost(held.uid):
            found = child_steps(kind, job, False)
        elif above is not None:
            top, parent = self._kinds[above[0]], self._jobs[above]
            gated = self._slicing.waits(kind, job) or self._slicing.waits(top, parent.packed.manifest())
            found = child_steps(kind, job, carries(self._workloads.read(parent.workload), gated=gated))
        self._halting.looked(key, any(step.undoes for step in found), now)
        for step in (*found, *self._kin.warnings(held.uid)):
            yield wanted(kind, key, held.uid, held.workload, step)
        if not managed(kind, job, self.inputs):
            for name in self._owned.of(held.uid):
                self._jobless.unqueued(name)
        elif not held.going:
            parts = (self._jobs[each].packed.manifest() for each in self._kin.held_back(held.uid))
            for name, step in self._slicing.steps(kind, grown(kind, job, parts), self.inputs, busy, whole_second(now)):
                yield wanted(kind, key, held.uid, name, step)
            yield from self._superseded(key, held, job, busy)

    def _runs(self, workload: str) -> bool:
        return any(map(self._remains.running, self._slicing.names(workload)))

    def _superseded(self, key: Key, held: Held, job: Manifest, busy: Busy) -> Iterator[WantedWrite]:
        """Workloads of the job beside the one that stands for it: they must not get quota as well."""
        kind, chosen = self._kinds[key[0]], self._workloads.read(held.workload)
        for name in self._owned.of(held.uid):
            other = self._workloads.read(name)
            if name == held.workload or other is None or busy(_WORKLOAD, name) or (held.sliced and other.elastic):
                continue
            whole, _ = self._workloads.whole(name)
            if controller(whole or {}) == held.uid and may_go(other, kind, job, chosen, self.inputs):
                message = f"Deleted not matching Workload: {name}"
                yield WantedWrite(
                    (_WORKLOAD, name), deletion(other), about(kind, key, held.uid), "DeletedWorkload", message
                )

    def _let_go(self, name: str, now: int) -> Iterator[WantedWrite]:
        """A Workload whose job is not queued any more, or that is being deleted while it stands for no job.

        Not while Pods run for it; one that has ended holds no quota.
        """
        read = self._workloads.read(name)
        if read is not None and not read.finished and self._runs(name):
            return
        if self._jobless.state(name) is State.OVERDUE:
            yield from self._left_behind(name)
        found = self._stored(name)
        if found is None or name in self._named:
            return
        lost = self._jobless.lost(name) or (ownerless(found.value) and found.value.labels[JOB_UID] not in self._by_uid)
        if not (lost or found.value.deleting):
            return  # most are not, and need not be unpacked
        whole, read = self._workloads.whole(name)
        if whole is None or read is None or has_owner(whole, self._others):
            return
        user = self._user(whole, read)
        if user is not None:
            self._using.setdefault(user, {})[name] = None
            return
        replaced = self._jobless.state(name) is State.REPLACED
        moment = whole_second(now)
        ended = last(whole, read, self.inputs, moment, replaced=replaced) if lost else orphaned(whole, read)
        yield from (WantedWrite((_WORKLOAD, name), step.action) for step in ended)

    def _user(self, whole: Manifest, read: Workload) -> Key | None:
        """Its job, where another Workload stands for that and it still has pods on the quota of this one."""
        key = self._by_uid.get(controller(whole))
        if key is None:
            return None
        held, kind = self._jobs[key], self._kinds[key[0]]
        used = in_use(read, kind, held.packed.manifest(), self._workloads.read(held.workload), self.inputs)
        return key if used else None

    def _left_behind(self, name: str) -> Iterator[WantedWrite]:
        """A Workload whose job is not queued any more: nobody would use its quota."""
        read = self._workloads.read(name)
        if read is None or read.finished or read.deleting or not self._unused(name, read):
            if read is None or read.finished or read.deleting or self._is_shown(name):
                self._jobless.leave(name)
            else:
                self._jobless.used(name)
            return
        message = "Deleted Workload: its job is gone, or is not queued any more"
        yield WantedWrite((_WORKLOAD, name), deletion(read), reference(read), "Deleted", message)

    def _is_shown(self, name: str) -> bool:
        return any(uid in self._by_uid for uid in self._owned.owners(name))

    def _unused(self, name: str, read: Workload) -> bool:
        whole, _ = self._workloads.whole(name)
        uid = controller(whole or {})
        if uid not in self._owned.owners(name):
            return False
        key = self._by_uid.get(uid)
        if key is None:
            return not read.reserved or self._jobless.idle(name)
        kind, job = self._kinds[key[0]], self._jobs[key].packed.manifest()
        return not managed(kind, job, self.inputs) and (not read.reserved or idle(kind, job))
