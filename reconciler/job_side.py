"""The batch Jobs of the loop: which of them are to be looked at, and what is asked for them.

A Job and its Workload are kept packed: decisions go by what was read of them, and only a step needs the whole.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cluster.stream import Manifest
from reconciler.jobs.batch_job import orphaned, steps
from reconciler.jobs.composed import workload_key
from reconciler.jobs.step import JobSurroundings, Step
from scheduling.objects.workload import Workload


@dataclass(frozen=True, slots=True)
class Packed:
    """A manifest in a tenth of its size."""

    content: bytes

    @classmethod
    def of(cls, manifest: Manifest) -> Packed:
        return cls(zlib.compress(json.dumps(manifest, separators=(",", ":")).encode(), level=1))

    def manifest(self) -> Manifest:
        whole: Manifest = json.loads(zlib.decompress(self.content))
        return whole


class Stored(Protocol):
    """A Workload as decisions see it, and packed."""

    @property
    def value(self) -> Any: ...

    @property
    def aside(self) -> Any: ...


class JobSide:
    """`stored` gives the Workload of that name as it is stored, None where there is none."""

    def __init__(self, stored: Callable[[str], Stored | None]) -> None:
        self.around = JobSurroundings()
        self._stored = stored
        self._jobs: dict[str, Packed] = {}
        self._workload_of: dict[str, str] = {}
        self._job_of: dict[str, str] = {}
        self._dirty: dict[str, None] = {}
        self._loose: dict[str, None] = {}

    def see(self, name: str, job: Packed | None) -> None:
        """A Job is new, has changed, or is gone."""
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
        """Something about the Workload changed: its Job may have something to do."""
        job = self._job_of.get(workload)
        if job is not None:
            self._dirty[job] = None
        else:
            self._loose[workload] = None

    def renew(self, around: JobSurroundings) -> None:
        """What all Jobs depend on has changed."""
        self.around = around
        self._dirty.update(dict.fromkeys(self._jobs))

    def due(self, busy: Callable[[str, str], bool], now: int) -> Iterator[tuple[str, str, Step]]:
        """The next step of each Job that may have one, as (job, workload, step).

        Those of which a write is under way (`busy`) are left for later.
        """
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
                yield name, workload, step
        yield from self._due_loose(busy)

    def _due_loose(self, busy: Callable[[str, str], bool]) -> Iterator[tuple[str, str, Step]]:
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
                yield "", name, step

    def _whole(self, name: str) -> tuple[Manifest | None, Workload | None]:
        found = self._stored(name)
        if found is None or found.aside is None:
            return None, None
        return found.aside.manifest(), found.value
