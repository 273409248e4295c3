"""What one placement is decided on, put together: the workload here, and what is known of it on each worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reconciler.feed import Key, Seen
from reconciler.jobs.kind import JobKind
from reconciler.jobs.pod_writes import KIND as POD
from reconciler.multikueue.copies import owner_job, remote_job
from reconciler.multikueue.objects import MultiKueueCluster, MultiKueueConfig
from reconciler.multikueue.pods import UNIT, PodUnits
from reconciler.multikueue.view import WORKLOAD, View
from reconciler.multikueue.writes import Writes
from reconciler.packed import Packed
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.workload import CheckState, Workload
from scheduling.placement.group import Group, OwnerJob, RemoteJob, Worker
from scheduling.placement.objects import config_of, multikueue_state
from scheduling.placement.refusals import Refusal, refusals
from scheduling.placement.settings import AS_LISTED, PlacementSettings


class Picture:
    """`kinds` are the kinds of jobs that can be taken elsewhere, `jobs` those that are here, by key.

    `views` are what is known of the workers. `pods` are those here that are queued by themselves; all that share a
    Workload have one key, of the kind UNIT.
    """

    def __init__(self, placing: PlacementSettings, kinds: Mapping[str, JobKind], writes: Writes) -> None:
        self.placing = placing
        self.kinds = kinds
        self.views: dict[str, View] = {}
        self.configs: dict[str, MultiKueueConfig] = {}
        self.clusters: dict[str, MultiKueueCluster] = {}
        self.checks: dict[str, CheckSettings] = {}
        self.jobs: dict[Key, Seen] = {}
        self.pods = PodUnits()
        self._writes = writes

    def view(self, cluster: str) -> View:
        return self.views.setdefault(cluster, View())

    def keys(self, owner: Key | None) -> list[Key]:
        """The objects that the job is made of, here as on a worker."""
        if owner is None:
            return []
        return self.pods.keys(owner[1]) if owner[0] == UNIT else [owner]

    def anywhere(self, workload: str) -> bool:
        """Whether something of it is on a worker."""
        return any(view.holds(workload) for view in self.views.values())

    def state(self, local: Workload) -> CheckState | None:
        return multikueue_state(local.checks, self.checks)

    def group(self, name: str, seen: Seen | None, owner: Key | None, now: int) -> tuple[Group, Any]:
        local: Workload | None = seen.value if seen is not None else None
        state = self.state(local) if local is not None else None
        config = self.configs.get(config_of(self.checks.get(state.name))) if state is not None else None
        stored = self.jobs.get(owner) if owner is not None else None
        job = stored.value.manifest() if stored is not None else None
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

    def _owner_job(self, local: Workload | None, owner: Key | None, job: Any) -> OwnerJob | None:
        if owner is not None and owner[0] == UNIT:
            return self.pods.owner(local) if local is not None else None
        if owner is not None:
            return owner_job(self.kinds[owner[0]], job) if job is not None else None
        if local is None or not local.owners:
            return None
        group, _, version = local.owners[0].api_version.rpartition("/")
        return OwnerJob(f"{group}/{version}, Kind={local.owners[0].kind}", adapted=False)

    def _workers(
        self, name: str, local: Workload | None, owner: Key | None, job: Any, config: MultiKueueConfig | None
    ) -> Iterator[Worker]:
        """Those of the config, then others that have something of it, or may have."""
        named = config.clusters if config is not None else ()
        for cluster in (*named, *(each for each in self.views if each not in named)):
            view = self.views.get(cluster)
            if view is None:
                if cluster in self.clusters:
                    yield Worker(cluster, reachable=False, connecting=True, eligible=self._eligible(cluster, config))
                continue
            yield self._worker(cluster, view, name, local, owner, job, config)

    def _worker(
        self, cluster: str, view: View, name: str, local: Workload | None, owner: Key | None, job: Any, config: Any
    ) -> Worker:
        link, jobs = view.connection, self.keys(owner)
        rules = self.placing.rules_of(config.name if config is not None else "")
        queues = view.queues(local) if local is not None else ()
        return Worker(
            cluster,
            reachable=link.connected,
            configured=config is not None and cluster in config.clusters,
            eligible=self._eligible(cluster, config),
            lost_since=link.since if link.state in ("lost", "misconfigured") else 0,
            connecting=link.state == "connecting",
            credentials=link.message if link.state == "misconfigured" else "",
            workload=view.workload(name),
            job=self._remote_job(view, name, local, job),
            uncertain=any(self._writes.unsure(cluster, key) for key in jobs),
            taken=any(view.get(key) is None and self._writes.taken(cluster, key) for key in [(WORKLOAD, name), *jobs]),
            namespace=local is None or view.has_namespace(local.namespace),
            **({"local_queue": queues[0], "cluster_queue": queues[1]} if queues else {}),
            free=view.free(local) if local is not None and rules.score != AS_LISTED else None,
        )

    def _eligible(self, cluster: str, config: MultiKueueConfig | None) -> bool:
        known = self.clusters.get(cluster)
        rules = self.placing.rules_of(config.name if config is not None else "")
        return known is not None and not known.deleting and rules.selector.matches(known.labels)

    def _remote_job(self, view: View, name: str, local: Workload | None, job: Any) -> RemoteJob | None:
        found = view.job(name)
        if found is not None and found.key[0] == POD:
            return self.pods.remote(name, local, view)
        seen = view.get(found.key) if found is not None else None
        if found is None or seen is None:
            return None
        return remote_job(self.kinds[found.key[0]], job, seen.value.manifest())

    def remote_manifest(self, cluster: str, name: str) -> Any:
        view = self.view(cluster)
        found = view.job(name)
        seen = view.get(found.key) if found is not None else None
        packed: Packed | None = seen.value if seen is not None else None
        return packed.manifest() if packed is not None else None

    def refused(self, name: str, seen: Seen, owner: Key | None, now: int) -> list[tuple[str, Refusal]]:
        """Why each worker that was asked does not admit it, as far as that is known by now."""
        group, _ = self.group(name, seen, owner, now)
        local: Workload = seen.value
        return refusals(group, local.nominated) if not local.cluster else []
