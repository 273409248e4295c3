"""Turns the decisions about one Workload into writes on this cluster and on workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.reading import mapping
from policies.mutation.patching import merge_patch
from reconciler.core.controller import WakeAt, Wanted
from reconciler.jobs.described import JobKind
from reconciler.jobs.kind import job_patch
from reconciler.multikueue.copies import settled, status_for
from reconciler.multikueue.remote_actions import RemoteCase, remote_action
from reconciler.multikueue.snapshot import PlacementSnapshot
from reconciler.multikueue.worker_cache import UNIT, WORKLOAD
from reconciler.multikueue.writes import RemoteWrites
from reconciler.objects.moments import next_second
from reconciler.objects.observed import Key, Observed
from reconciler.objects.packed import Packed
from reconciler.objects.patches import status_patch
from reconciler.objects.wanted import WantedWrite, reference
from reconciler.objects.workers import WorkerWrite
from scheduling.objects.workload import Workload
from scheduling.placement.decisions import (
    Again,
    ClearClusterName,
    CopyStatus,
    CreateClone,
    Decision,
    Finish,
    Local,
    Nominate,
    NotePlaces,
    Remote,
    ReportStopped,
    SetCheck,
    SetClusterName,
    applied,
)
from scheduling.placement.group import Group
from scheduling.placement.settings import PlacementSettings
from scheduling.status.reservation import sync_admitted


class WorkloadAndJob(NamedTuple):
    """A Workload of this cluster with its job.

    `name`: `namespace/name` of the Workload.
    `observed`: the Workload; None if it is gone.
    `owner`: the key of its job, or of its unit of Pods; None if it has none that can run on workers.
    `job`: the job; None if it is gone.
    `now`: nanoseconds.
    """

    name: str
    observed: Observed[Workload] | None
    owner: Key | None
    job: Packed | None
    now: int


class PlacementSteps:
    """Makes the writes. `kinds`: the kinds of jobs that can run on workers, by name."""

    def __init__(
        self, kinds: dict[str, JobKind], placing: PlacementSettings, snapshot: PlacementSnapshot, writes: RemoteWrites
    ) -> None:
        self._kinds = kinds
        self._placing = placing
        self._snapshot = snapshot
        self._writes = writes
        self._later: list[WorkerWrite] = []

    def remaining(self) -> list[WorkerWrite]:
        """The copies that are left since the last call. The first copy of each Workload is written earlier."""
        later, self._later = self._later, []
        return later

    def carry_out(self, at: WorkloadAndJob, group: Group, steps: list[Decision]) -> Iterator[Wanted]:
        mine: list[Local] = []
        first = next((step for step in steps if isinstance(step, CreateClone)), None)
        for step in steps:
            match step:
                case Again():
                    yield WakeAt((WORKLOAD, at.name), next_second(step.at))
                case Nominate() | SetClusterName() | ClearClusterName() | NotePlaces() | SetCheck() | Finish():
                    mine.append(step)
                case CopyStatus() | ReportStopped():
                    yield from self._job_writes(step, at)
                case CreateClone() if step is not first:
                    self._later += self._write_there(step, at)
                case _:
                    yield from self._write_there(step, at)
        if first is not None:
            self._snapshot.loads.ask(at.name, first.cluster)
        if mine and at.observed is not None and group.check is not None:
            yield from self._local(at.name, at.observed.value, group.check.name, mine, at.now)

    def _write_there(self, step: Remote, at: WorkloadAndJob) -> Iterator[WorkerWrite]:
        cache, local = self._snapshot.cache(step.cluster), at.observed.value if at.observed is not None else None
        pods = self._snapshot.pods.writes(step, local, at.name, cache, self._placing)
        for key, action in pods.items():
            yield from self._writes.send(step.cluster, key, action)
        kind = self._kinds.get(at.owner[0]) if at.owner is not None else None
        case_ = RemoteCase(at.name, at.observed, kind, at.owner, at.job, cache, self._placing, at.now)
        found = remote_action(step, case_, self._kinds) if not pods else None
        if found is not None:
            yield from self._writes.send(step.cluster, *found)

    def _local(self, name: str, local: Workload, check: str, steps: list[Local], now: int) -> Iterator[WantedWrite]:
        """One write of the workload on this cluster for all its steps."""
        after = local
        for step in steps:
            after = applied(after, check, step, now)
        if after.cluster:
            self._snapshot.loads.choose(name, after.cluster)
        if after.checks_ready and not local.checks_ready:
            after = sync_admitted(after, now)  # saves the write in which the core would do the same
        patch = status_patch(local, after, MULTIKUEUE)
        if patch is None:
            return
        news = next((step for step in steps if isinstance(step, SetCheck) and step.event), None)
        if news is None:
            yield WantedWrite((WORKLOAD, name), patch)
        else:
            yield WantedWrite((WORKLOAD, name), patch, reference(local), "MultiKueue", news.message, news.warning)

    def _job_writes(self, step: CopyStatus | ReportStopped, at: WorkloadAndJob) -> Iterator[WantedWrite]:
        """The writes that copy the status of the remote job to the local one."""
        if at.owner is not None and at.owner[0] == UNIT:
            cache = self._snapshot.cache(step.cluster) if isinstance(step, CopyStatus) else None
            yield from self._snapshot.pods.status_writes(step, at.name, cache)
            return
        if at.owner is None or at.job is None:
            return
        kind, job = self._kinds[at.owner[0]], at.job.manifest()
        before = mapping(job.get("status"))
        after: Mapping[str, Any] | None = settled(kind, job, at.now)
        if isinstance(step, CopyStatus):
            remote = self._snapshot.remote_manifest(step.cluster, at.name, at.owner)
            after = status_for(kind, job, remote) if remote is not None else None
        if after is not None and after != before:
            yield WantedWrite(at.owner, job_patch(kind.resource, job, {"status": merge_patch(before, after)}, "status"))
