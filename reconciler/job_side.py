"""The batch Jobs of the loop: which of them are to be looked at, and what is asked for them.

A Job and its Workload are kept packed, since only a step needs the whole of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from cluster.resource import JOBS
from cluster.stream import Manifest
from reconciler.events import About
from reconciler.feed import QUEUE_NAME, Followed, Seen, ignore
from reconciler.jobs.batch_job import orphaned, steps
from reconciler.jobs.composed import workload_key
from reconciler.jobs.step import JobSurroundings, Step
from reconciler.packed import Packed
from reconciler.side import Busy, Look, Turn
from scheduling.objects.workload import Workload

JOB = Followed("Job", JOBS, Packed.of, ignore, ignore, labelled=QUEUE_NAME)


class JobSide:
    followed: tuple[Followed, ...] = (JOB,)

    def __init__(self, stored: Look) -> None:
        self.around = JobSurroundings()
        self._stored = stored
        self._jobs: dict[str, Packed] = {}
        self._workload_of: dict[str, str] = {}
        self._job_of: dict[str, str] = {}
        self._dirty: dict[str, None] = {}
        self._loose: dict[str, None] = {}

    def see(self, seen: Seen) -> None:
        name, job = seen.key[1], seen.value
        before = self._workload_of.pop(name, None)
        if before is not None:
            self._job_of.pop(before, None)
        if job is None:
            self._jobs.pop(name, None)
            self._dirty.pop(name, None)
            if before is not None:
                self._loose[before] = None
            return
        self._jobs[name] = job
        self._workload_of[name] = workload_key(job.manifest())
        self._job_of[self._workload_of[name]] = name
        self._dirty[name] = None

    def touch(self, workload: str) -> None:
        job = self._job_of.get(workload)
        if job is not None:
            self._dirty[job] = None
        else:
            self._loose[workload] = None

    def renew(self, around: JobSurroundings) -> None:
        self.around = around
        self._dirty.update(dict.fromkeys(self._jobs))

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        """The next step of each Job that may have one; no step while its Workload is being written either."""
        names, self._dirty = self._dirty, {}
        for name in names:
            packed = self._jobs.get(name)
            if packed is None:
                continue
            workload = self._workload_of[name]
            if busy("Job", name) or busy("Workload", workload):
                self._dirty[name] = None
                continue
            whole, read = self._whole(workload)
            for step in steps(packed.manifest(), whole, read, self.around, now):
                yield _turn(name, workload, step)
        yield from self._due_loose(busy)

    def _due_loose(self, busy: Busy) -> Iterator[Turn]:
        """Workloads that are to go and whose Job is gone."""
        names, self._loose = self._loose, {}
        for name in names:
            whole, read = self._whole(name)
            if read is None or not read.deleting or name in self._job_of:
                continue
            if busy("Workload", name):
                self._loose[name] = None
                continue
            for step in orphaned(whole, read):
                yield _turn("", name, step)

    def _whole(self, name: str) -> tuple[Manifest | None, Workload | None]:
        found = self._stored(name)
        if found is None or found.aside is None:
            return None, None
        return found.aside.manifest(), found.value


def _turn(job: str, workload: str, step: Step) -> Turn:
    """What is written is the Job or its Workload; the Event is about the Job."""
    namespace, _, name = job.partition("/")
    about = About("batch/v1", "Job", namespace, name) if name else None
    of_job = step.action is not None and step.action.resource == JOBS
    key = ("Job", job) if of_job else ("Workload", workload)
    return Turn(key, step.action, about, step.reason, step.message, step.warning)
