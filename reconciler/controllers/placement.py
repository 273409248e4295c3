"""The controller of workloads that run on other clusters. It selects the workloads to look at, and returns the writes.

Decisions depend only on stored objects. The writes to workers in flight, and their failures, are kept in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from cluster.actions import Create, Delete
from policies.dialects.core import POD
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.naming import Naming
from policies.dialects.reading import metadata
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.controllers.placement_steps import PlacementSteps, WorkloadAndJob
from reconciler.controllers.pods import WATCHED_PODS, watched_pods
from reconciler.core.controller import Busy, Controller, Lookup, Wanted
from reconciler.jobs.described import JobKind
from reconciler.multikueue.copies import stored_otherwise
from reconciler.multikueue.objects import CLUSTERS, CONFIGS
from reconciler.multikueue.pods import REMOTE_PODS
from reconciler.multikueue.snapshot import PlacementSnapshot
from reconciler.multikueue.worker_cache import UNIT, WORKLOAD, WorkerCache
from reconciler.multikueue.writes import RemoteWrites
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Listed, Observed, put_or_drop
from reconciler.objects.outcomes import Failed, ObjectRead, Outcome, Written
from reconciler.objects.packed import HasManifest, Packed
from reconciler.objects.wanted import reference
from reconciler.objects.watched import CHECK_VIEW, WORKLOAD_VIEW, WatchedKind, by_kind
from reconciler.objects.workers import FromWorker, WorkerConnection, WorkerWrite
from reconciler.recorder.journal import followed
from scheduling.objects.grouped import Grouped
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.placement.group import PlacementRefusal, placed_on
from scheduling.placement.leaving import evicted_for
from scheduling.placement.place import place
from scheduling.placement.settings import PlacementSettings
from scheduling.status.checks import RETRY

_WAITING_EVERY = 2 * SECOND
"""The shortest time between two looks at all waiting workloads after queues on a worker have changed."""


class PlacementController(Controller):
    """Places workloads on worker clusters.

    `jobs`: the kinds of jobs that can run on workers, with their watched views.
    `pods`: whether Pods can run on workers, too.

    Private state, by `namespace/name` of the workload:
    `_here`: the workloads with a check of MultiKueue, each with the key of its job.
    `_waiting`: those of them that have quota, but no worker yet.
    `_of_job`: the workloads of each job, such as the slices of an elastic job.
    `_left`: workloads that are gone here, and may have copies on workers.
    """

    def __init__(
        self,
        stored: Lookup,
        jobs: Iterable[tuple[JobKind, WatchedKind[Packed]]],
        placing: PlacementSettings | None = None,
        *,
        pods: bool = False,
    ) -> None:
        pairs = list(jobs)
        self.placing = placing or PlacementSettings()
        self.kinds = {kind.name: kind for kind, _ in pairs}
        self._jobs = {watched.kind: watched for _, watched in pairs}
        naming = Naming(self.placing.annotated, self.placing.short)
        here, there = ([watched_pods(naming)], [REMOTE_PODS]) if pods else ([], [])
        self.watched: tuple[WatchedKind[object], ...] = (CLUSTERS, CONFIGS, CHECK_VIEW, *self._jobs.values(), *here)
        remote: Mapping[str, WatchedKind[HasManifest]] = {**self._jobs, **{view.kind: view for view in there}}
        self._remote = by_kind((WORKLOAD_VIEW, *remote.values()))
        self._pods = pods
        self._stored = stored
        self._writes = RemoteWrites(self._followed)
        self.snapshot = PlacementSnapshot(self.placing, self.kinds, self._writes, remote)
        self._steps = PlacementSteps(self.kinds, self.placing, self.snapshot, self._writes)
        self._by_group = {kind.shape.kind: kind for kind, _ in pairs}
        self._of_job: Grouped[str, Key, None] = Grouped()
        self._here: dict[str, Key | None] = {}
        self._all: dict[str, None] = {}
        self._left: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._stale: dict[str, None] = {}
        self._errors = InternalErrors()
        self._all_waiting_at = 0
        self._collect_at = 0
        self.dispatched: Counter[tuple[str, str]] = Counter()
        """The number of Workloads that this process created on workers, by ClusterQueue and worker."""
        self.evicted_there: Counter[tuple[str, str, str]] = Counter()
        """The number of evictions on the workers that ran the workloads, by ClusterQueue, worker and reason."""

    @property
    def caches(self) -> Mapping[str, WorkerCache]:
        return self.snapshot.caches

    def refused(self, name: str, now: int) -> list[tuple[str, PlacementRefusal]]:
        """Why the nominated workers do not admit the workload `namespace/name`. Call this in the loop's thread."""
        observed = self._stored(name)
        return self.snapshot.refused(name, observed, self._here.get(name), now) if observed is not None else []

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        kind, name = observed.key
        if kind in self.kinds:
            put_or_drop(self.snapshot.jobs, observed.key, self._jobs[kind].value(observed))
            self._stale.update(dict.fromkeys(self._of_job.of(observed.key)))
            return
        if kind == WATCHED_PODS.kind:
            for workload in self.snapshot.pods.observe(name, WATCHED_PODS.value(observed)) & self._here.keys():
                self._stale[workload] = None
            return
        if kind == CONFIGS.kind:
            put_or_drop(self.snapshot.configs, name, CONFIGS.value(observed))
        elif kind == CLUSTERS.kind:
            before, cluster = self.snapshot.clusters.get(name), CLUSTERS.value(observed)
            put_or_drop(self.snapshot.clusters, name, cluster)
            if before is not None and cluster is not None and before.labels == cluster.labels:
                return  # only the status has changed, which does not matter here
        elif kind == CHECK_VIEW.kind:
            check = CHECK_VIEW.value(observed)
            mine = check if check is not None and check.controller == MULTIKUEUE else None
            if self.snapshot.checks.get(name) == mine:
                return
            put_or_drop(self.snapshot.checks, name, mine)
            for workload in [*self._all]:
                self.workload_changed(workload)  # with this check it may belong to this controller
        self._stale.update(dict.fromkeys(self._here))

    def workload_changed(self, workload: str) -> None:
        observed = self._stored(workload)
        self.snapshot.loads.observe(workload, observed.value if observed is not None else None)
        if observed is None:
            self._forget(workload)
            return
        local = observed.value
        self._all[workload] = None
        ours = self.snapshot.state(local) is not None
        if ours and local.reserved and not local.cluster and not local.finished:
            self._waiting[workload] = None
        else:
            self._waiting.pop(workload, None)
        if ours:
            self._here[workload] = owner = self._owner(local)
            self._of_job.pop(workload)
            if owner is not None:
                self._of_job.put(workload, owner, None)
        elif workload not in self._here and not self.snapshot.anywhere(workload):
            return
        self._stale[workload] = None

    def _forget(self, workload: str) -> None:
        """The workload is gone here, so all its copies on workers have to be deleted."""
        self._all.pop(workload, None)
        self._waiting.pop(workload, None)
        if workload in self._here or self.snapshot.anywhere(workload):
            self._left.add(workload)
            self._stale[workload] = None
        self._here.pop(workload, None)
        self._of_job.pop(workload)

    def _owner(self, local: Workload) -> Key | None:
        """The workload's job or group of Pods, if it can run on workers."""
        for owner in local.owners:
            if self._pods and owner.group_kind == POD:
                return UNIT, local.key
            kind = self._by_group.get(owner.group_kind)
            if kind is not None:
                return kind.name, f"{local.namespace}/{owner.name}"
        return None

    # --- reports of workers

    def from_worker(self, event: FromWorker, now: int) -> None:
        self._writes.now = now
        cluster = event.cluster
        match event.news:
            case Observed() as observed:
                running = self._running(cluster, (observed,))
                self._news(cluster, observed.key, self.snapshot.cache(cluster).take(observed))
                self._count_evictions(cluster, running)
            case Listed() as listed:
                self._listed(cluster, listed)
            case Written() | Failed() | ObjectRead() as outcome:
                self._outcome(cluster, outcome)
            case WorkerConnection() | None as connection:
                self._connection(cluster, connection)

    def _listed(self, cluster: str, listed: Listed) -> None:
        self._writes.listed(cluster, listed.kind)
        running = self._running(cluster, listed.objects)
        for name in self.snapshot.cache(cluster).replaced(listed):
            self._look_again(name)
        self._count_evictions(cluster, running)

    def _outcome(self, cluster: str, outcome: Outcome) -> None:
        cache = self.snapshot.cache(cluster)
        self._writes.over(cluster, outcome)
        if isinstance(outcome, Written):
            self._count(cluster, outcome)
            observed = self._answer(outcome, cache)
            if outcome.key[0] == WORKLOAD and stored_otherwise(outcome.action, outcome.manifest):
                self._writes.altered(cluster, outcome.key)
            if observed is not None:
                self._news(cluster, observed.key, cache.answered(observed))
        self._stale.update(dict.fromkeys(self._workloads_of(outcome.key)))

    def _count(self, cluster: str, outcome: Written) -> None:
        local = self._stored(outcome.key[1]) if outcome.key[0] == WORKLOAD else None
        if isinstance(outcome.action, Create) and local is not None and local.value.admission is not None:
            self.dispatched[local.value.admission.cluster_queue, cluster] += 1

    def _running(self, cluster: str, observed: Iterable[Observed[object]]) -> dict[str, str]:
        """The Workloads among these objects that run on the worker, as far as is known, with their ClusterQueues."""
        found: dict[str, str] = {}
        for key in (each.key for each in observed if each.key[0] == WORKLOAD):
            local, remote = self._stored(key[1]), self.snapshot.cache(cluster).workload(key[1])
            if local is None or local.value.cluster != cluster or (remote is not None and evicted_for(remote)):
                continue
            check, admission = self.snapshot.state(local.value), local.value.admission
            if admission is not None and check is not None and check.state != RETRY and not local.value.evicted:
                found[key[1]] = admission.cluster_queue
        return found

    def _count_evictions(self, cluster: str, running: Mapping[str, str]) -> None:
        for name, queue in running.items():
            remote = self.snapshot.cache(cluster).workload(name)
            reason = evicted_for(remote) if remote is not None else ""
            if reason:
                self.evicted_there[queue, cluster, reason] += 1

    def _connection(self, cluster: str, connection: WorkerConnection | None) -> None:
        if connection is None:
            self.snapshot.caches.pop(cluster, None)
            self._writes.drop(cluster)
        else:
            self.snapshot.cache(cluster).connection = connection
            if connection.state == "connecting":
                self._writes.forget_rejections(cluster)
        self._stale.update(dict.fromkeys(name for name in self._here if self._concerns(cluster, name)))
        if connection is not None and connection.connected:
            self._stale.update(dict.fromkeys(self.snapshot.cache(cluster).names()))

    def _concerns(self, cluster: str, name: str) -> bool:
        """Whether the workload depends on the connection to this worker."""
        observed = self._stored(name)
        return name in self._waiting or (
            observed is not None and cluster in (observed.value.cluster, placed_on(observed.value))
        )

    def _news(self, cluster: str, key: Key, name: str | None) -> None:
        if name is None:
            return
        if name:
            self._writes.observed(cluster, key)
        self._look_again(name)

    def _look_again(self, name: str) -> None:
        """Look at the workload again.

        An empty name stands for all waiting workloads. They are looked at some time later, because queues change often.
        """
        if name:
            self._stale[name] = None
        elif not self._all_waiting_at:
            self._all_waiting_at = self._writes.now + _WAITING_EVERY

    def _answer(self, outcome: Written, cache: WorkerCache) -> Observed[object] | None:
        """The object on the worker after a write. A deleted object without finalizers is gone, except for a Pod: the
        kubelet needs time to end it, and the watch reports when it is gone.
        """
        key, meta = outcome.key, metadata(outcome.manifest)
        if isinstance(outcome.action, Delete) and key[0] == REMOTE_PODS.kind:
            return REMOTE_PODS.observed(outcome.manifest) if meta.get("deletionTimestamp") else None
        if isinstance(outcome.action, Delete) and not (meta.get("deletionTimestamp") and meta.get("finalizers")):
            return Observed(key, "", None)
        watched = self._remote.get(key[0])
        return watched.observed(outcome.manifest, cache.at) if watched is not None and meta else None

    def _workloads_of(self, key: Key) -> list[str]:
        """The Workloads of an object on a worker. Several may name the same job, and each may be gone here."""
        if key[0] == WORKLOAD:
            return [key[1]]
        there = (cache.jobs.group_of.get(key) for cache in self.snapshot.caches.values())
        return [*self._of_job.of(key), *filter(None, (self.snapshot.pods.workload_of(key), *there))]

    def _followed(self, key: Key) -> dict[str, str]:
        observed = next(filter(None, map(self._stored, self._workloads_of(key))), None)
        return followed(reference(observed.value)) if observed is not None else {}

    # --- writes

    def completed(self, reserved: Workload, now: int) -> Workload:
        """Add the nominated clusters to the quota reservation, so that they are stored before a copy is created."""
        observed = self._stored(reserved.key)
        if observed is None or self.snapshot.state(reserved) is None:
            return reserved
        return self.snapshot.nominated(replace(observed, value=reserved), self._owner(reserved), now)

    def wake(self, item: Key) -> None:
        self._stale[item[1]] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        self._writes.now = now
        yield from self._due(now)
        names, self._stale = self._stale, {}
        for name in names:
            owner = self._here.get(name)
            keys = ((WORKLOAD, name), *self.snapshot.keys(owner))
            observed = self._stored(name)
            about = reference(observed.value) if observed is not None else None
            look = partial(self._look_at, name, observed, owner, whole_second(now))
            yield from self._errors.attempt(keys[0], keys, look, about, busy, now)
        yield from self._steps.remaining()

    def _due(self, now: int) -> Iterator[WorkerWrite]:
        """Writes that are due again. Also marks the workloads whose time has come."""
        for key, write in self._writes.rested(self._connected):
            self._stale.update(dict.fromkeys(self._workloads_of(key)))
            yield from () if write is None else (write,)
        if self._all_waiting_at and now >= self._all_waiting_at:
            self._all_waiting_at = 0
            self._stale.update(self._waiting)
        if self.placing.collect_every and now >= self._collect_at:
            self._collect_at = now + self.placing.collect_every
            for cache in self.snapshot.caches.values():
                self._stale.update(dict.fromkeys(name for name in cache.names() if name not in self._here))

    def _connected(self, cluster: str) -> bool:
        return cluster in self.snapshot.caches and self.snapshot.caches[cluster].connection.connected

    def _look_at(self, name: str, observed: Observed[Workload] | None, owner: Key | None, now: int) -> Iterator[Wanted]:
        if observed is None and not self.placing.collect_every and name not in self._left:
            return
        if not self.snapshot.anywhere(name) and (
            observed is None or observed.value.finished or self.snapshot.state(observed.value) is None
        ):
            self._left.discard(name)
            return  # there is nothing to do here or on any worker
        group, job = self.snapshot.group(name, observed, owner, now)
        yield from self._steps.carry_out(WorkloadAndJob(name, observed, owner, job, now), group, place(group))
