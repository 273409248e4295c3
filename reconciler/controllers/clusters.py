"""Writes the condition Active of MultiKueueClusters and their AdmissionChecks, and follows sources of kubeconfigs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cluster.expiry import Expiry
from policies.dialects.kueue_checks import MULTIKUEUE
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.multikueue.conditions import check_condition, cluster_condition
from reconciler.multikueue.connections import ConnectedWorker
from reconciler.multikueue.kubeconfigs import WorkerLogin
from reconciler.multikueue.objects import CLUSTERS, CONFIGS, MultiKueueCluster, MultiKueueConfig
from reconciler.objects.activity import ActiveCondition, active_patch, news, same
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed, put_or_drop
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import KUEUE_VERSION, WantedWrite, refer_to
from reconciler.objects.watched import CHECK_VIEW
from reconciler.objects.workers import (
    DropWorker,
    FollowWorker,
    FromWorker,
    RenewWorker,
    WorkerCommand,
    WorkerCondition,
    WorkerConnection,
)
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.times import SECOND


class ClustersController(Controller):
    """Writes the conditions, and follows the kubeconfigs.

    `workers`: the workers with their connections, by name. They are only read here.
    `counted`: whether conditions show the number of failed attempts.
    """

    watched = (CLUSTERS, CONFIGS, CHECK_VIEW)

    def __init__(self, workers: Mapping[str, ConnectedWorker], *, counted: bool = False) -> None:
        self.workers = workers
        self._counted = counted
        self.clusters: dict[str, MultiKueueCluster] = {}
        self.configs: dict[str, MultiKueueConfig] = {}
        self.checks: dict[str, CheckSettings] = {}
        self._commands: list[WorkerCommand] = []
        self._stored: dict[tuple[str, str], Stored] = {}
        self._stale: dict[tuple[str, str], None] = {}
        self._warned: dict[str, Expiry] = {}

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        kind, name = observed.key
        if kind == CLUSTERS.kind:
            self._see_cluster(name, CLUSTERS.value(observed))
        elif kind == CONFIGS.kind:
            put_or_drop(self.configs, name, CONFIGS.value(observed))
        else:
            check = CHECK_VIEW.value(observed)
            put_or_drop(self.checks, name, check if check is not None and check.controller == MULTIKUEUE else None)
        if observed.value is None:
            self._stored.pop(observed.key, None)
        else:
            if observed.stored is not None:
                self._stored[observed.key] = observed.stored
            self._stale[observed.key] = None
        if kind != CHECK_VIEW.kind:
            self._stale.update(dict.fromkeys((CHECK_VIEW.kind, check) for check in self.checks))

    def _see_cluster(self, name: str, cluster: MultiKueueCluster | None) -> None:
        before = self.clusters.get(name)
        wanted = cluster if cluster is not None and not cluster.deleting else None
        put_or_drop(self.clusters, name, wanted)
        if wanted is None:
            self._commands.append(DropWorker(name))
            self._warned.pop(name, None)
            return
        self._commands.append(WorkerCondition(name, wanted.active))
        if before is None or before.source != wanted.source:
            self._commands.append(FollowWorker(name, wanted.source))

    def lead(self) -> None:
        """List everything on the workers again. Watches may not have delivered the previous leader's last writes yet,
        so a job that it created could seem to be gone."""
        self._commands += map(RenewWorker, self.clusters)

    def from_worker(self, event: FromWorker, now: int) -> None:
        del now
        if isinstance(event.news, WorkerConnection):
            self._stale[CLUSTERS.kind, event.cluster] = None

    def commands(self) -> list[WorkerCommand]:
        found, self._commands = self._commands, []
        return found

    # --- writes

    def wake(self, item: Key) -> None:
        self._stale[item] = None

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        now = whole_second(now)
        self._watch_expiries(now)
        stale, self._stale = self._stale, {}
        for item in stale:
            if busy(*item):
                yield WaitFor(item, item)
                continue
            for write in self._condition(*item, now):
                yield write
                yield WaitFor(item, item)

    def _condition(self, kind: str, name: str, now: int) -> Iterator[WantedWrite]:
        stored, wanted = self._stored.get((kind, name)), self._wanted(kind, name, now)
        if stored is None or wanted is None or same(stored, wanted):
            return
        resource = CLUSTERS.resource if kind == CLUSTERS.kind else CHECK_VIEW.resource
        patch = active_patch(resource, name, stored, wanted, now, MULTIKUEUE)
        about = refer_to(KUEUE_VERSION, kind, name, stored)
        event = (wanted.reason, wanted.message) if news(stored, wanted) else ("", "")
        yield WantedWrite((kind, name), patch, about, *event, warning=not wanted.holds)

    def _wanted(self, kind: str, name: str, now: int) -> ActiveCondition | None:
        if kind == CHECK_VIEW.kind:
            active = {each.name: each.active.holds for each in self.clusters.values()}
            check = self.checks.get(name)
            return check_condition(check.parameters, self.configs, active) if check is not None else None
        worker = self.workers.get(name)
        if worker is None or name not in self.clusters:
            return None
        return cluster_condition(worker.connection, self.expiry(name), now, counted=self._counted)

    # --- credentials that expire

    def expiry(self, name: str) -> Expiry | None:
        worker = self.workers.get(name)
        return worker.login.expiry if worker is not None and isinstance(worker.login, WorkerLogin) else None

    def _watch_expiries(self, now: int) -> None:
        """Mark a worker when its credentials expire soon, once for each set of credentials."""
        for name in self.workers:
            expiry = self.expiry(name)
            if expiry is not None and now >= expiry.warn_at * SECOND and self._warned.get(name) != expiry:
                self._warned[name] = expiry
                self._stale[CLUSTERS.kind, name] = None
