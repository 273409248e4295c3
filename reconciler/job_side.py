"""The jobs of the loop, of all kinds that are on: which of them are to be looked at, and what is asked for them.

A job and its Workload are kept packed, since only a step needs the whole of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from cluster.actions import Delete
from cluster.decoding import deeper
from cluster.stream import Manifest
from policies.dialects.reading import listing, mapping, metadata, text
from policies.model.objects import GroupKind
from reconciler.events import About
from reconciler.faults import FAULT, Faults
from reconciler.feed import QUEUE_NAME, Followed, Key, Seen, ignore
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import workload_key
from reconciler.jobs.kind import JobKind
from reconciler.jobs.life import managed, orphaned, steps
from reconciler.jobs.step import JobSurroundings, Step
from reconciler.jobs.superseded import controller, idle, in_use, may_go
from reconciler.ownership import Named, Owned, Strays
from reconciler.packed import Packed
from reconciler.patches import WORKLOADS
from reconciler.side import Busy, Look, Turn
from reconciler.telling import about as about_workload
from scheduling.objects.submission import kind_of
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload

log = logging.getLogger(__name__)

_WORKLOAD = "Workload"
_DEEPEST = 100
_PATIENCE = 60 * SECOND
"""A kind that is not served for a moment is looked for again sooner than that."""

_AT_ONCE = 250
"""Jobs in one round that something around them changed for: about a fifth of a second."""


class _Held(NamedTuple):
    """`workload` is `namespace/name` of the one that the job goes by."""

    packed: Packed
    workload: str
    uid: str


class JobSide:
    """`others` are kinds whose Workloads another side looks after, also when their owner is gone. `every`: jobs that
    name no queue are followed, too.
    """

    def __init__(
        self,
        stored: Look,
        kinds: Iterable[JobKind] = (BATCH,),
        others: Iterable[GroupKind] = (),
        *,
        every: bool = False,
    ) -> None:
        self._kinds = {kind.name: kind for kind in kinds}
        self._others = frozenset(others)
        self._described = frozenset(kind.shape.kind for kind in self._kinds.values())
        self.followed: tuple[Followed, ...] = tuple(_followed(kind, every) for kind in self._kinds.values())
        self.around = JobSurroundings(described=self._described)
        self._stored = stored
        self._jobs: dict[Key, _Held] = {}
        self._by_uid: dict[str, Key] = {}
        self._named = Named()
        self._owned = Owned(self._described)
        self._dirty: dict[Key, None] = {}
        self._renewed: dict[Key, None] = {}
        self._loose: dict[str, None] = {}
        self._strays = Strays(_PATIENCE)
        self._faults = Faults()

    def see(self, seen: Seen) -> None:
        key = seen.key
        before = self._jobs.pop(key, None)
        held = self._held(key, seen.value) if seen.value is not None else None
        if before is not None and (held is None or before[1:] != held[1:]):
            self._part(key, before)
        if held is None:
            self._dirty.pop(key, None)
            self._renewed.pop(key, None)
            self._faults.forget(key)
            return
        self._jobs[key] = held
        self._by_uid[held.uid] = key
        self._named.add(held.workload, key)
        self._dirty[key] = None
        for workload in self._owned.of(held.uid):
            self._strays.remove(workload)

    def _held(self, key: Key, packed: Packed) -> _Held | None:
        try:
            job = packed.manifest()
            return _Held(packed, workload_key(self._kinds[key[0]], job), text(metadata(job).get("uid")) or "")
        except Exception:
            log.exception("%s %s cannot be read, and is left out", *key)
            return None

    def _part(self, key: Key, held: _Held) -> None:
        """The job is gone, or goes by another Workload."""
        self._named.remove(held.workload, key)
        if self._by_uid.get(held.uid) == key:
            del self._by_uid[held.uid]
        for workload in self._owned.of(held.uid):
            self._strays.add(workload, idle=self._idle(key, held))
        if self._stored(held.workload) is not None:
            self._loose[held.workload] = None

    def _idle(self, key: Key, held: _Held) -> bool:
        try:
            return idle(self._kinds[key[0]], held.packed.manifest())
        except Exception:
            log.exception("%s %s cannot be judged: it may have pods", *key)
            return False

    def touch(self, workload: str) -> None:
        found = self._stored(workload)
        self._owned.put(workload, found.value if found is not None else None)
        for job in self._named.jobs(workload):
            self._dirty[job] = None
        if found is None:
            self._loose.pop(workload, None)
            self._strays.remove(workload)
            self._faults.forget((_WORKLOAD, workload))
            return
        for uid in self._owned.owners(workload):
            owner = self._by_uid.get(uid)
            if owner is not None:
                self._dirty[owner] = None
            else:
                self._strays.add(workload)
        if found.value.deleting and workload not in self._named:
            self._loose[workload] = None

    def renew(self, around: JobSurroundings) -> None:
        self.around = replace(around, described=self._described)
        self._renewed.update(dict.fromkeys(self._jobs))

    def _take_turns(self) -> None:
        """Where all are to be looked at anew, each round looks at some of them, so that others need not wait."""
        for key in [*islice(self._renewed, _AT_ONCE)]:
            del self._renewed[key]
            self._dirty[key] = None

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        """The next step of each job that may have one; no step while its Workload is being written either."""
        self._take_turns()
        keys, self._dirty = self._dirty, {}
        for key in keys:
            held = self._jobs.get(key)
            if held is None:
                continue
            if busy(*key) or busy(_WORKLOAD, held.workload) or self._faults.resting(key, now):
                self._dirty[key] = None
                continue
            about = _about(self._kinds[key[0]], key)
            for turn in self._faults.guarded(key, partial(self._turns, key, held, busy, now), about, now):
                if turn.action is not None or turn.reason == FAULT:
                    self._dirty[key] = None  # what came of it is looked at, even where it was refused
                yield turn
        for name in list(self._loose):
            yield from self._guarded(name, self._let_go, busy, now)
        for name in self._strays.due(now):
            yield from self._guarded(name, self._left_behind, busy, now)

    def _guarded(self, name: str, look: Callable[[str], Iterable[Turn]], busy: Busy, now: int) -> list[Turn]:
        key = (_WORKLOAD, name)
        if busy(*key) or self._faults.resting(key, now):
            return []
        return self._faults.guarded(key, partial(look, name), None, now)

    def _turns(self, key: Key, held: _Held, busy: Busy, now: int) -> Iterator[Turn]:
        kind, job = self._kinds[key[0]], held.packed.manifest()
        whole, read = self._whole(held.workload)
        for step in steps(kind, job, whole, read, self.around, now):
            yield _turn(kind, key, held.workload, step)
        if not managed(kind, job, self.around):
            for name in self._owned.of(held.uid):
                self._strays.add(name)
        elif not metadata(job).get("deletionTimestamp"):
            yield from self._superseded(key, held, job, busy)

    def _superseded(self, key: Key, held: _Held, job: Manifest, busy: Busy) -> Iterator[Turn]:
        """Workloads of the job beside the one that it goes by, which must not be given quota, too."""
        kind, chosen = self._kinds[key[0]], self._read(held.workload)
        for name in self._owned.of(held.uid):
            other = self._read(name)
            if name == held.workload or other is None or busy(_WORKLOAD, name):
                continue
            whole, _ = self._whole(name)
            if controller(whole or {}) == held.uid and may_go(other, kind, job, chosen, self.around):
                message = f"Deleted not matching Workload: {name}"
                yield Turn((_WORKLOAD, name), _deletion(other), _about(kind, key), "DeletedWorkload", message)

    def _let_go(self, name: str) -> Iterator[Turn]:
        """A Workload that is to go, and that no job goes by."""
        found = self._stored(name)
        if found is None or not found.value.deleting or name in self._named:
            del self._loose[name]  # most are not, and need not be unpacked
            return
        whole, read = self._whole(name)
        if whole is not None and read is not None and not self._anothers(whole):
            if self._in_use(whole, read):
                return
            yield from (Turn((_WORKLOAD, name), step.action) for step in orphaned(whole, read))
        del self._loose[name]

    def _in_use(self, whole: Manifest, read: Workload) -> bool:
        """Whether its job is there, goes by another Workload, and still has pods on the quota of this one."""
        key = self._by_uid.get(controller(whole))
        if key is None:
            return False
        held, kind = self._jobs[key], self._kinds[key[0]]
        return in_use(read, kind, held.packed.manifest(), self._read(held.workload), self.around)

    def _left_behind(self, name: str) -> Iterator[Turn]:
        """A Workload whose job is not queued any more: what it would be given, nobody would use."""
        read = self._read(name)
        if read is None or read.finished or read.deleting or not self._unused(name, read):
            self._strays.remove(name)
            return
        message = "Deleted Workload: its job is gone, or is not queued any more"
        yield Turn((_WORKLOAD, name), _deletion(read), about_workload(read), "Deleted", message)

    def _unused(self, name: str, read: Workload) -> bool:
        whole, _ = self._whole(name)
        uid = controller(whole or {})
        if uid not in self._owned.owners(name):
            return False
        key = self._by_uid.get(uid)
        if key is None:
            return not read.reserved or self._strays.idle(name)
        kind, job = self._kinds[key[0]], self._jobs[key].packed.manifest()
        return not managed(kind, job, self.around) and (not read.reserved or idle(kind, job))

    def _anothers(self, workload: Manifest) -> bool:
        owners = map(mapping, listing(metadata(workload).get("ownerReferences")))
        return any(kind_of(owner) in self._others for owner in owners)

    def _read(self, name: str) -> Workload | None:
        found = self._stored(name)
        return found.value if found is not None else None

    def _whole(self, name: str) -> tuple[Manifest | None, Workload | None]:
        found = self._stored(name)
        if found is None or found.aside is None:
            return None, None
        return found.aside.manifest(), found.value


def jobs_of(
    kinds: Iterable[JobKind], others: Iterable[GroupKind] = (), *, every: bool = False
) -> Callable[[Look], JobSide]:
    """What makes the side of these kinds."""
    chosen, left = tuple(kinds), tuple(others)
    return lambda stored: JobSide(stored, chosen, left, every=every)


def packed(job: Manifest) -> Packed | None:
    """None for a job that is nested deeper than any that can be copied and compared: it is left out."""
    if deeper(job, _DEEPEST):
        meta = metadata(job)
        what = (text(job.get("kind")), text(meta.get("namespace")), text(meta.get("name")))
        log.warning("%s %s/%s is nested deeper than %d levels, and is left out", *what, _DEEPEST)
        return None
    return Packed.of(job)


def _followed(kind: JobKind, every: bool) -> Followed:
    """All are read anew by who begins to write: what the one before started must not be taken for stopped."""
    label = None if every else QUEUE_NAME
    return Followed(kind.name, kind.resource, packed, ignore, ignore, labelled=label, anew=True)


def _turn(kind: JobKind, job: Key, workload: str, step: Step) -> Turn:
    """What is written is the job or its Workload; the Event is about the job."""
    of_job = step.action is not None and step.action.resource == kind.resource
    key = job if of_job else (_WORKLOAD, workload)
    return Turn(key, step.action, _about(kind, job), step.reason, step.message, step.warning)


def _about(kind: JobKind, job: Key) -> About:
    namespace, _, name = job[1].partition("/")
    return About(f"{kind.shape.kind.group}/{kind.shape.version}", kind.shape.kind.kind, namespace, name)


def _deletion(workload: Workload) -> Delete:
    return Delete(WORKLOADS, workload.namespace, workload.name, workload.resource_version)
