"""The MultiKueueClusters of the loop, and the AdmissionChecks that place workloads on them: where workers' kubeconfigs
come from, and the condition Active of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from cluster.expiry import Expiry
from policies.dialects.kueue_kinds import GROUP
from reconciler.events import About
from reconciler.feed import VERSION, Followed, Seen, by_kind
from reconciler.jobs.step import JobSurroundings
from reconciler.multikueue.conditions import (
    Condition,
    check_condition,
    check_patch,
    cluster_condition,
    cluster_patch,
    news,
    same,
)
from reconciler.multikueue.connections import Connections, Worker
from reconciler.multikueue.kubeconfigs import Login
from reconciler.multikueue.objects import CLUSTERS, CONFIGS, MULTIKUEUE, MultiKueueCluster, MultiKueueConfig, Source
from reconciler.side import Busy, Turn
from reconciler.stored import Stored
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.times import SECOND

T = TypeVar("T")
CHECKS = by_kind()["AdmissionCheck"]
_API_VERSION = f"{GROUP}/{VERSION}"


class Follows(Protocol):
    """What it needs of Sources."""

    def follow(self, name: str, source: Source | None) -> None: ...
    def drop(self, name: str) -> None: ...


class ClustersSide:
    followed: tuple[Followed, ...] = (CLUSTERS, CONFIGS, CHECKS)

    def __init__(self, connections: Connections, sources: Follows) -> None:
        self.clusters: dict[str, MultiKueueCluster] = {}
        self.configs: dict[str, MultiKueueConfig] = {}
        self.checks: dict[str, CheckSettings] = {}
        self._connections = connections
        self._sources = sources
        self._stored: dict[tuple[str, str], Stored] = {}
        self._dirty: dict[tuple[str, str], None] = {}
        self._warned: dict[str, Expiry] = {}
        connections.changed = self._changed

    @property
    def workers(self) -> Mapping[str, Worker]:
        """As they are connected, by name."""
        return self._connections.workers

    # --- what is seen

    def see(self, seen: Seen) -> None:
        kind, name = seen.key
        if kind == CLUSTERS.kind:
            self._see_cluster(name, seen.value)
        elif kind == CONFIGS.kind:
            _keep(self.configs, name, seen.value)
        elif seen.value is None or seen.value.controller != MULTIKUEUE:
            self.checks.pop(name, None)
        else:
            self.checks[name] = seen.value
        if seen.value is None:
            self._stored.pop(seen.key, None)
        else:
            if isinstance(seen.aside, Stored):
                self._stored[seen.key] = seen.aside
            self._dirty[seen.key] = None
        if kind != CHECKS.kind:
            self._dirty.update(dict.fromkeys((CHECKS.kind, check) for check in self.checks))

    def _see_cluster(self, name: str, cluster: MultiKueueCluster | None) -> None:
        before = self.clusters.get(name)
        wanted = cluster if cluster is not None and not cluster.deleting else None
        _keep(self.clusters, name, wanted)
        if wanted is None:
            self._sources.drop(name)
            self._connections.drop(name)
            self._warned.pop(name, None)
            return
        self._connections.stored(name, wanted.active)
        if before is None or before.source != wanted.source:
            self._sources.follow(name, wanted.source)

    def _changed(self, name: str) -> None:
        """Its connection did."""
        self._dirty[CLUSTERS.kind, name] = None

    def touch(self, workload: str) -> None:
        """Workloads are no concern of the connections."""

    def renew(self, around: JobSurroundings) -> None:
        """Neither are jobs."""

    # --- what is to be written

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        self._watch_expiries(now)
        dirty, self._dirty = self._dirty, {}
        for kind, name in dirty:
            if busy(kind, name):
                self._dirty[kind, name] = None
            else:
                yield from self._turn(kind, name, now)

    def _turn(self, kind: str, name: str, now: int) -> Iterator[Turn]:
        stored, wanted = self._stored.get((kind, name)), self._wanted(kind, name, now)
        if stored is None or wanted is None or same(stored, wanted):
            return
        patch = (cluster_patch if kind == CLUSTERS.kind else check_patch)(name, stored, wanted, now)
        about = About(_API_VERSION, kind, "", name)
        told = (wanted.reason, wanted.message) if news(stored, wanted) else ("", "")
        yield Turn((kind, name), patch, about, *told, warning=not wanted.holds)

    def _wanted(self, kind: str, name: str, now: int) -> Condition | None:
        if kind == CHECKS.kind:
            active = {each.name: each.active.holds for each in self.clusters.values()}
            check = self.checks.get(name)
            return check_condition(check.parameters, self.configs, active) if check is not None else None
        worker = self._connections.workers.get(name)
        if worker is None or name not in self.clusters:
            return None
        return cluster_condition(worker.connection, self.expiry(name), now)

    # --- credentials that end

    def expiry(self, name: str) -> Expiry | None:
        """When the worker's credentials end, where they tell."""
        worker = self._connections.workers.get(name)
        return worker.login.expiry if worker is not None and isinstance(worker.login, Login) else None

    def _watch_expiries(self, now: int) -> None:
        """Once for each set of credentials, in time."""
        for name in self._connections.workers:
            expiry = self.expiry(name)
            if expiry is not None and now >= expiry.warn_at * SECOND and self._warned.get(name) != expiry:
                self._warned[name] = expiry
                self._changed(name)


def _keep(known: dict[str, T], name: str, value: T | None) -> None:
    if value is None:
        known.pop(name, None)
    else:
        known[name] = value
