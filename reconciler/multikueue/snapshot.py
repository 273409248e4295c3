"""The input of a placement decision: the local workload, and what is known about it on each worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from policies.dialects.reading import Manifest
from reconciler.jobs.described import JobKind
from reconciler.jobs.pod_writes import KIND as POD
from reconciler.multikueue.copies import owner_job, remote_job, unsupported
from reconciler.multikueue.objects import MultiKueueCluster, MultiKueueConfig
from reconciler.multikueue.pods import PodUnits
from reconciler.multikueue.worker_cache import UNIT, WORKLOAD, WorkerCache, is_copy
from reconciler.multikueue.writes import RemoteWrites
from reconciler.objects.observed import Key, Observed
from reconciler.objects.packed import HasManifest, Packed
from reconciler.objects.watched import WatchedKind
from scheduling.objects.grouped import Grouped
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.workload import CheckState, Workload
from scheduling.placement.decisions import Nominate, applied
from scheduling.placement.group import Group, OwnerJob, PlacementRefusal, RemoteJob, WorkerCluster
from scheduling.placement.objects import config_of, multikueue_state
from scheduling.placement.place import place
from scheduling.placement.refusals import refusals
from scheduling.placement.settings import AS_LISTED, PlacementSettings

_KEPT = 1024
"""How many jobs are cached in the form for placement. Each is read a dozen times, and changes two or three times."""


class Loads:
    """The workloads of each worker, so that work is spread over equal workers.

    `placed`: the unfinished workloads on the worker, also if the write of that choice is in flight.
    `asked`: the workloads without a worker that were first offered to this worker.
    """

    def __init__(self) -> None:
        self.placed: Grouped[str, str, None] = Grouped()
        self.asked: Grouped[str, str, None] = Grouped()

    def observe(self, name: str, local: Workload | None) -> None:
        """Process a workload as it is stored on this cluster; None if it is gone."""
        waits = local is not None and local.reserved and not local.finished
        cluster = local.cluster if local is not None and not local.finished else ""
        self.choose(name, cluster)
        if cluster or not waits:
            self.asked.pop(name)

    def choose(self, name: str, cluster: str) -> None:
        self.placed.pop(name)
        if cluster:
            self.placed.put(name, cluster, None)

    def ask(self, name: str, cluster: str) -> None:
        """The workload was offered to a worker. Only the first offer counts."""
        if name not in self.asked.group_of:
            self.asked.put(name, cluster, None)


class PlacementSnapshot:
    """Builds the inputs of placement decisions.

    `kinds`: the kinds of jobs that can run on workers.
    `remote`: the views of jobs and Pods on workers, by kind.
    `pods`: the local Pods that are queued by themselves. The Pods of one Workload share a key of the kind UNIT.
    """

    def __init__(
        self,
        placing: PlacementSettings,
        kinds: Mapping[str, JobKind],
        writes: RemoteWrites,
        remote: Mapping[str, WatchedKind[HasManifest]],
    ) -> None:
        self.placing = placing
        self.kinds = kinds
        self.caches: dict[str, WorkerCache] = {}
        self.configs: dict[str, MultiKueueConfig] = {}
        self.clusters: dict[str, MultiKueueCluster] = {}
        self.checks: dict[str, CheckSettings] = {}
        self.jobs: dict[Key, Packed] = {}
        self.pods = PodUnits()
        self.loads = Loads()
        self._writes = writes
        self._remote = remote
        self._job_here = lru_cache(_KEPT)(self._read_job_here)
        self._job_there = lru_cache(_KEPT)(self._read_job_there)

    def cache(self, cluster: str) -> WorkerCache:
        return self.caches.setdefault(cluster, WorkerCache(self._remote))

    def keys(self, owner: Key | None) -> list[Key]:
        """The keys of the objects that belong to the job. They are the same on all clusters."""
        if owner is None:
            return []
        return self.pods.keys(owner[1]) if owner[0] == UNIT else [owner]

    def anywhere(self, workload: str) -> bool:
        return any(cache.holds(workload) for cache in self.caches.values())

    def state(self, local: Workload) -> CheckState | None:
        return multikueue_state(local.checks, self.checks)

    def group(
        self, name: str, observed: Observed[Workload] | None, owner: Key | None, now: int
    ) -> tuple[Group, Packed | None]:
        """The input of a placement decision, and the local job."""
        local = observed.value if observed is not None else None
        state = self.state(local) if local is not None else None
        config = self.configs.get(config_of(self.checks.get(state.name))) if state is not None else None
        job = self.jobs.get(owner) if owner is not None else None
        rules = self.placing.rules_of(config.name if config is not None else "")
        group = Group(
            local,
            state,
            self._owner_job(local, owner, job),
            tuple(self._workers(name, local, owner, job, config)),
            now,
            self.placing,
            rules,
            owned=local is not None and bool(local.owners),
            configured=config is not None,
        )
        return group, job

    def named_by(self, checks: Iterable[str]) -> Iterator[str]:
        """The workers in the MultiKueueConfigs of these AdmissionChecks."""
        for check in checks:
            config = self.configs.get(config_of(self.checks.get(check)))
            yield from config.clusters if config is not None else ()

    def nominated(self, observed: Observed[Workload], owner: Key | None, now: int) -> Workload:
        """The workload with the workers that are nominated for it now. Other steps follow later."""
        local = observed.value
        group, _ = self.group(local.key, observed, owner, now)
        for step in place(group):
            if isinstance(step, Nominate) and group.check is not None:
                local = applied(local, group.check.name, step, now)
        return local

    def _owner_job(self, local: Workload | None, owner: Key | None, job: Packed | None) -> OwnerJob | None:
        if owner is not None and owner[0] == UNIT:
            return self.pods.owner(local) if local is not None else None
        if owner is not None:
            return self._job_here(owner[0], job) if job is not None else None
        if local is None or not local.owners:
            return None
        return unsupported(local.owners[0])

    def _workers(
        self, name: str, local: Workload | None, owner: Key | None, job: Packed | None, config: MultiKueueConfig | None
    ) -> Iterator[WorkerCluster]:
        """The workers of the config, then other known workers, which may have objects of the workload."""
        named = config.clusters if config is not None else ()
        for cluster in (*named, *(each for each in self.caches if each not in named)):
            cache = self.caches.get(cluster)
            if cache is None:
                if cluster in self.clusters:
                    yield WorkerCluster(
                        cluster, reachable=False, connecting=True, eligible=self._eligible(cluster, config)
                    )
                continue
            yield self._worker(cluster, cache, name, local, owner, job, config)

    def _worker(
        self,
        cluster: str,
        cache: WorkerCache,
        name: str,
        local: Workload | None,
        owner: Key | None,
        job: Packed | None,
        config: MultiKueueConfig | None,
    ) -> WorkerCluster:
        link, jobs = cache.connection, self.keys(owner)
        rules = self.placing.rules_of(config.name if config is not None else "")
        queues = cache.queues(local) if local is not None else ()
        rejections = self._rejections(cluster, cache, [(WORKLOAD, name), *jobs])
        return WorkerCluster(
            cluster,
            reachable=link.connected,
            configured=config is not None and cluster in config.clusters,
            eligible=self._eligible(cluster, config),
            lost_since=link.since if link.state in ("lost", "misconfigured") else 0,
            back_since=link.since if link.connected else 0,
            connecting=link.state == "connecting",
            credentials=link.message if link.state == "misconfigured" else "",
            workload=cache.workload(name),
            job=self._remote_job(cache, name, local, owner, job),
            uncertain=any(self._writes.unsure(cluster, key) for key in jobs),
            rejection=next((each for each in rejections if not each.retried), None),
            failure=next((each for each in rejections if each.retried), None),
            namespace=local is None or cache.has_namespace(local.namespace),
            **({"local_queue": queues[0], "cluster_queue": queues[1]} if queues else {}),
            free=cache.free(local) if local is not None and rules.score != AS_LISTED else None,
            load=len(self.loads.placed.of(cluster)),
            asked=len(self.loads.asked.of(cluster)),
            writing=self._writes.flying(cluster, (WORKLOAD, name)),
        )

    def _rejections(self, cluster: str, cache: WorkerCache, keys: list[Key]) -> list[PlacementRefusal]:
        found = (self._writes.rejection(cluster, key, exists=cache.at(key) is not None) for key in keys)
        return [*filter(None, found)]

    def _eligible(self, cluster: str, config: MultiKueueConfig | None) -> bool:
        known = self.clusters.get(cluster)
        rules = self.placing.rules_of(config.name if config is not None else "")
        return known is not None and not known.deleting and rules.selector.matches(known.labels)

    def _remote_job(
        self, cache: WorkerCache, name: str, local: Workload | None, owner: Key | None, job: Packed | None
    ) -> RemoteJob | None:
        found = cache.job(name, owner)
        if found is None:
            return None
        foreign = not is_copy(owner, found.key)
        if found.key[0] == POD:
            there = self.pods.remote(name, local, cache)
        else:
            there = self._job_there(found.key[0], None if foreign else job, found.packed)
        return replace(there, foreign=True) if foreign and there is not None else there

    def _read_job_here(self, kind: str, job: Packed) -> OwnerJob:
        return owner_job(self.kinds[kind], job.manifest())

    def _read_job_there(self, kind: str, job: Packed | None, there: HasManifest) -> RemoteJob:
        return remote_job(self.kinds[kind], job.manifest() if job is not None else None, there.manifest())

    def remote_manifest(self, cluster: str, name: str, owner: Key) -> Manifest | None:
        """The job on the worker that was created for the Workload; None if there is none."""
        found = self.cache(cluster).job(name, owner)
        return found.packed.manifest() if found is not None else None

    def refused(
        self, name: str, observed: Observed[Workload], owner: Key | None, now: int
    ) -> list[tuple[str, PlacementRefusal]]:
        """Why the nominated workers do not admit the workload, as far as that is known."""
        group, _ = self.group(name, observed, owner, now)
        local = observed.value
        return refusals(group, local.nominated) if not local.cluster else []
