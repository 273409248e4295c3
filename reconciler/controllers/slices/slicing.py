"""Elastic jobs among the jobs of a controller: the slice that stands for each, and what is written of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.reading import Manifest, metadata, text
from reconciler.controllers.owners.ownership import Owned
from reconciler.controllers.remains import Remains
from reconciler.controllers.slices.slice_chains import SliceChains
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy, Lookup
from reconciler.jobs.composed import composed, workload_key
from reconciler.jobs.elastic import chain_of, resizable, sliced
from reconciler.jobs.kind import JobKind, notes, prebuilt
from reconciler.jobs.slices import Chain, chain, steps
from reconciler.jobs.step import JobInputs, Step
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.submission import kind_of
from scheduling.objects.workload import Workload

_WORKLOAD = "Workload"


class Slicing:
    """`enabled`: Kueue's gate ElasticJobsViaWorkloadSlices. Workloads are called `namespace/name`."""

    def __init__(self, stored: Lookup, owned: Owned, remains: Remains, *, enabled: bool) -> None:
        self._workloads = StoredWorkloads(stored)
        self._owned = owned
        self._remains = remains
        self.chains = SliceChains()
        self.enabled = enabled

    def concerns(self, kind: JobKind, job: Manifest) -> bool:
        """Whether a slice stands for it: Kueue may have made one even where the job cannot grow here."""
        return self.enabled and notes(job).get(ELASTIC) == "true" and not prebuilt(kind, job)

    def waits(self, kind: JobKind, job: Manifest) -> bool:
        """Whether its pods wait at their gate until a slice is admitted."""
        return self.enabled and resizable(kind, job)

    def workload_of(self, kind: JobKind, job: Manifest) -> str:
        """The Workload that stands for the job, or that is to be made for it."""
        holder = self._chain(job).holder if self.concerns(kind, job) else None
        if holder is not None:
            return holder.key
        usual, former = workload_key(kind, job, elastic=self.enabled), self._former(kind, job)
        return former if former in self._owned.of(_uid(job)) and self._workloads.read(usual) is None else usual

    def renamed(self, kind: JobKind, job: Manifest) -> bool:
        """Whether its Workload may have been made under another name."""
        return self._former(kind, job) != workload_key(kind, job)

    def _former(self, kind: JobKind, job: Manifest) -> str:
        """What its Workload is called if it was made under the other value of the gate ShortWorkloadNames."""
        if prebuilt(kind, job):
            return workload_key(kind, job)
        named = replace(kind.naming, short=not kind.naming.short)
        meta = metadata(job)
        name = named.workload(kind_of(job), text(meta.get("name")) or "", _uid(job))
        return f"{text(meta.get('namespace')) or 'default'}/{name}"

    def steps(
        self, kind: JobKind, job: Manifest, inputs: JobInputs, busy: Busy, now: int
    ) -> Iterator[tuple[str, Step]]:
        """What is to be written of slices that are not busy, beside the life of the one that stands for the job."""
        if not (self.enabled and sliced(kind, job)) or kind.ending(job):
            return
        try:
            asked = composed(kind, job, inputs)
        except UnknownPriorityClass:
            asked = None
        found = self._chain(job)
        bound = self._bound(found.holder.key) if found.holder is not None else {}
        for name, step in steps(found, asked, self._workloads.manifest, kind.suspended(job), now, bound):
            if not busy(_WORKLOAD, name):
                yield name, step

    def _bound(self, workload: str) -> Mapping[str, int]:
        """How many of its Pods have a node, by pod set."""
        return sum(map(self._remains.bound, self.names(workload)), Counter())

    def names(self, workload: str) -> Iterable[str]:
        """By what its Pods may name it: they keep the name of the slice that they were started for."""
        read = self._workloads.read(workload)
        if read is None or not read.elastic:
            return (workload,)
        return dict.fromkeys((workload, f"{read.namespace}/{chain_of(read)}"))

    def _chain(self, job: Manifest) -> Chain:
        found = map(self._workloads.read, self._owned.of(_uid(job)))
        return chain(each for each in found if each is not None and each.elastic)


def _uid(job: Manifest) -> str:
    return text(metadata(job).get("uid")) or ""


def carries(read: Workload | None, *, gated: bool) -> bool:
    """Whether what belongs to the job of this Workload may run. Pods that are `gated` wait, and need no stop."""
    if read is None or read.finished:
        return False
    return read.admitted or (gated and read.reserved and not read.evicted)
