"""Writes the condition Active of MultiKueueClusters and their AdmissionChecks, and follows sources of kubeconfigs.

Reasons and messages are Kueue's. Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cluster.expiry import Expiry
from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import MULTIKUEUE_CONFIG
from reconciler.core.controller import Busy, Controller, WaitFor, Wanted
from reconciler.multikueue.connections import ConnectedWorker
from reconciler.multikueue.kubeconfigs import WorkerLogin
from reconciler.multikueue.objects import CLUSTERS, CONFIGS, MultiKueueCluster, MultiKueueConfig
from reconciler.objects.activity import CHECK_ACTIVE, ActiveCondition, active_patch, news, parameters_fault, same
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
from scheduling.objects import times
from scheduling.objects.queue_settings import CheckParameters, CheckSettings
from scheduling.objects.times import SECOND
from scheduling.status.conditions import shortened


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


def cluster_condition(
    connection: WorkerConnection, expiry: Expiry | None = None, now: int = 0, *, counted: bool = False
) -> ActiveCondition | None:
    """The condition of a MultiKueueCluster; None while the state of the connection is unknown.

    If it is unknown, the caller keeps the stored condition, with the time at which the connection was lost.

    `counted`: whether the message shows the number of failed attempts and the time of the next one, as in Kueue v0.20.
    """
    if connection.state == "connecting":
        return None
    if not connection.connected:
        tried = _tried(connection) if counted and connection.attempts else ""
        return ActiveCondition(False, connection.reason, shortened(connection.message + tried))
    return ActiveCondition(True, connection.reason, connection.message + _ending(expiry, now))


def _tried(connection: WorkerConnection) -> str:
    again = times.rfc3339(connection.next_attempt)
    return f"; connection attempts: {connection.attempts}, next connection attempt: {again}"


def _ending(expiry: Expiry | None, now: int) -> str:
    """A warning in the message that the credentials will expire soon; empty if not."""
    if expiry is None or now < expiry.warn_at * SECOND:
        return ""
    return f"; the {expiry.what} ends at {times.rfc3339(expiry.at * SECOND)}: put a new one into the kubeconfig"


def check_condition(
    parameters: CheckParameters | None, configs: Mapping[str, MultiKueueConfig], active: Mapping[str, bool]
) -> ActiveCondition:
    """The condition of an AdmissionCheck. `active`: whether a MultiKueueCluster is active, by name."""
    fault = parameters_fault(parameters, MULTIKUEUE_CONFIG, configs)
    if fault is not None or parameters is None:
        return ActiveCondition(False, "BadConfig", f"Cannot load the AdmissionChecks parameters: {fault}")
    clusters = configs[parameters.name].clusters
    missing = [name for name in clusters if name not in active]
    inactive = [name for name in clusters if name in active and not active[name]]
    if not missing and not inactive:
        return CHECK_ACTIVE
    lists = (("Missing clusters", missing), ("Inactive clusters", inactive))
    message = ", ".join(f"{what}: [{' '.join(names)}]" for what, names in lists if names)
    some = len(missing) + len(inactive) < len(clusters)
    return ActiveCondition(some, "SomeActiveClusters" if some else "NoUsableClusters", message)
