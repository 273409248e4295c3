"""The jobs of the loop, of all kinds that are on: which of them are to be looked at, and what is asked for them.

A job and its Workload are kept packed, since only a step needs the whole of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from cluster.resource import JOBS
from cluster.stream import Manifest
from policies.dialects.reading import listing, mapping, metadata
from policies.objects import GroupKind
from reconciler.events import About
from reconciler.feed import QUEUE_NAME, Followed, Key, Seen, ignore
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.composed import workload_key
from reconciler.jobs.kind import JobKind
from reconciler.jobs.life import orphaned, steps
from reconciler.jobs.step import JobSurroundings, Step
from reconciler.packed import Packed
from reconciler.side import Busy, Look, Turn
from scheduling.objects.submission import kind_of
from scheduling.objects.workload import Workload

_AT_ONCE = 250
"""Jobs in one round that something around them changed for: about a fifth of a second."""


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
        self._jobs: dict[Key, Packed] = {}
        self._workload_of: dict[Key, str] = {}
        self._job_of: dict[str, Key] = {}
        self._dirty: dict[Key, None] = {}
        self._renewed: dict[Key, None] = {}
        self._loose: dict[str, None] = {}

    def see(self, seen: Seen) -> None:
        key, job = seen.key, seen.value
        before = self._workload_of.pop(key, None)
        if before is not None and self._job_of.get(before) == key:
            del self._job_of[before]
        if job is None:
            self._jobs.pop(key, None)
            self._dirty.pop(key, None)
            if before is not None:
                self._loose[before] = None
            return
        self._jobs[key] = job
        self._workload_of[key] = workload_key(self._kinds[key[0]], job.manifest())
        self._job_of[self._workload_of[key]] = key
        self._dirty[key] = None

    def touch(self, workload: str) -> None:
        job = self._job_of.get(workload)
        if job is not None:
            self._dirty[job] = None
        elif (found := self._stored(workload)) is not None and found.value.deleting:
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
            packed = self._jobs.get(key)
            if packed is None:
                continue
            workload = self._workload_of[key]
            if busy(*key) or busy("Workload", workload):
                self._dirty[key] = None
                continue
            whole, read = self._whole(workload)
            kind = self._kinds[key[0]]
            for step in steps(kind, packed.manifest(), whole, read, self.around, now):
                if step.action is not None:
                    self._dirty[key] = None  # what came of it is looked at, even where it was refused
                yield _turn(kind, key, workload, step)
        yield from self._due_loose(busy)

    def _due_loose(self, busy: Busy) -> Iterator[Turn]:
        """Workloads that are to go and whose job is gone."""
        names, self._loose = self._loose, {}
        for name in names:
            found = self._stored(name)
            if found is None or not found.value.deleting:
                continue  # most are not, and need not be unpacked
            whole, read = self._whole(name)
            if whole is None or read is None or name in self._job_of or self._anothers(whole):
                continue
            if busy("Workload", name):
                self._loose[name] = None
                continue
            for step in orphaned(whole, read):
                yield Turn(("Workload", name), step.action)

    def _anothers(self, workload: Manifest) -> bool:
        owners = map(mapping, listing(metadata(workload).get("ownerReferences")))
        return any(kind_of(owner) in self._others for owner in owners)

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


def _followed(kind: JobKind, every: bool) -> Followed:
    """Of those that may not be installed none can be read anew."""
    label, always_there = None if every else QUEUE_NAME, kind.resource == JOBS
    return Followed(kind.name, kind.resource, Packed.of, ignore, ignore, labelled=label, anew=always_there)


def _turn(kind: JobKind, job: Key, workload: str, step: Step) -> Turn:
    """What is written is the job or its Workload; the Event is about the job."""
    namespace, _, name = job[1].partition("/")
    group, version = kind.shape.kind.group, kind.shape.version
    about = About(f"{group}/{version}", kind.shape.kind.kind, namespace, name)
    of_job = step.action is not None and step.action.resource == kind.resource
    key = job if of_job else ("Workload", workload)
    return Turn(key, step.action, about, step.reason, step.message, step.warning)
