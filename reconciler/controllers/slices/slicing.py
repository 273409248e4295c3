"""Elastic jobs: the slice that represents each job, and the writes to its other slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.reading import Manifest, group_kind, metadata, text
from reconciler.controllers.jobs.record import JobId
from reconciler.controllers.jobs.store import JobStore
from reconciler.controllers.slices.slice_pods import SliceChains
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.core.controller import Busy
from reconciler.jobs.composed import composed, workload_key
from reconciler.jobs.described import JobKind
from reconciler.jobs.elastic import chain_of, size_may_differ, uses_slices
from reconciler.jobs.kind import notes, prebuilt
from reconciler.jobs.reported import report_patch
from reconciler.jobs.slices import Chain, chain, steps
from reconciler.jobs.step import JobInputs, JobStep
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.workload import PODS_READY, Workload

_WORKLOAD = "Workload"


class Slicing:
    """The slices of elastic jobs. Workloads are named `namespace/name`.

    `enabled`: whether Kueue's gate ElasticJobsViaWorkloadSlices is on.
    """

    def __init__(self, workloads: StoredWorkloads, store: JobStore, *, enabled: bool) -> None:
        self._workloads = workloads
        self._store = store
        self.chains = SliceChains()
        self.enabled = enabled

    def concerns(self, kind: JobKind, job: Manifest) -> bool:
        """Whether slices represent the job. Kueue may have made slices of jobs that cannot grow in Quotree."""
        return self.enabled and notes(job).get(ELASTIC) == "true" and not prebuilt(kind, job)

    def waits(self, kind: JobKind, job: Manifest) -> bool:
        """Whether the job's pods wait at their gate until a slice is admitted."""
        return self.enabled and size_may_differ(kind, job)

    def workload_of(self, kind: JobKind, job: Manifest) -> str:
        """The name of the Workload that represents the job, or will represent it once it is created."""
        in_slices = self.concerns(kind, job)
        holder = self._chain(kind, job).holder if in_slices else None
        if holder is not None:
            return holder.key
        usual, former = workload_key(kind, job, elastic=self.enabled), self._other_name(kind, job)
        if former not in self._owned(kind, job) or self._workloads.read(usual) is not None:
            return usual
        read = self._workloads.read(former)
        replaced = in_slices and read is not None and read.elastic
        return usual if replaced else former

    def renamed(self, kind: JobKind, job: Manifest) -> bool:
        """Whether the job's Workload may have a name that was made by another naming scheme."""
        return self._other_name(kind, job) != workload_key(kind, job)

    def _other_name(self, kind: JobKind, job: Manifest) -> str:
        """The name of the Workload if the gate ShortWorkloadNames had its other value."""
        if prebuilt(kind, job):
            return workload_key(kind, job)
        named = replace(kind.naming, short=not kind.naming.short)
        meta = metadata(job)
        name = named.workload(group_kind(job), text(meta.get("name")) or "", text(meta.get("uid")) or "")
        return f"{text(meta.get('namespace')) or 'default'}/{name}"

    def steps(
        self, kind: JobKind, job: Manifest, inputs: JobInputs, busy: Busy, now: int
    ) -> Iterator[tuple[str, JobStep]]:
        """The writes to the job's slices that are not busy, except the steps of the slice that represents the job."""
        if not (self.enabled and uses_slices(kind, job)) or kind.ending(job):
            return
        try:
            asked = composed(kind, job, inputs)
        except UnknownPriorityClass:
            asked = None
        found = self._chain(kind, job)
        bound = self._bound(found.holder.key) if found.holder is not None else {}
        for name, step in steps(found, asked, self._workloads.manifest, kind.suspended(job), now, bound):
            if not busy(_WORKLOAD, name):
                yield name, step
        waits = found.pending
        if waits is None or PODS_READY in waits.conditions or not inputs.pods_ready or busy(_WORKLOAD, waits.key):
            return
        yield waits.key, JobStep(report_patch(waits, {}, False, inputs, now))

    def _bound(self, workload: str) -> Mapping[str, int]:
        """The number of the job's Pods that are bound to a Node, by pod set."""
        records = (self._store.workloads.get(name) for name in self.names(workload))
        return sum((record.bound() for record in records if record is not None), Counter())

    def names(self, workload: str) -> Iterable[str]:
        """The Workload names that the job's Pods may have: the Workload's, and that of the chain's first slice."""
        read = self._workloads.read(workload)
        if read is None or not read.elastic:
            return (workload,)
        return dict.fromkeys((workload, f"{read.namespace}/{chain_of(read)}"))

    def _chain(self, kind: JobKind, job: Manifest) -> Chain:
        found = map(self._workloads.read, self._owned(kind, job))
        return chain(each for each in found if each is not None and each.elastic)

    def _owned(self, kind: JobKind, job: Manifest) -> Iterable[str]:
        """The Workloads that have the job as an owner."""
        meta = metadata(job)
        name = f"{text(meta.get('namespace')) or ''}/{text(meta.get('name')) or ''}"
        found = self._store.jobs.get(JobId(kind.name, name, text(meta.get("uid")) or ""))
        return found.workloads if found is not None else ()


def carries(read: Workload | None, *, gated: bool) -> bool:
    """Whether children of this Workload's job may run. `gated`: their Pods wait at a gate; reserved quota suffices."""
    if read is None or read.finished:
        return False
    return read.admitted or (gated and read.reserved and not read.evicted)
