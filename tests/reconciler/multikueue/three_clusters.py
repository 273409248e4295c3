"""A manager and two workers in memory: each a loop on an API server of its own, joined by connections that can be cut.

Whoever runs jobs (Kubernetes' Job controller) is played: `run_pods` and `end_pods`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cluster.actions import Action, Create
from cluster.errors import NotFound, Unreachable
from cluster.resource import Resource
from cluster.tracing.span import SpanRecorder
from policies.dialects.core import POD
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.watched_jobs import watched_jobs
from reconciler.controllers.placement import PlacementController
from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind
from reconciler.multikueue.pods import REMOTE_PODS
from reconciler.multikueue.remote import remote_kinds
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.outcomes import Failed, Outcome, Written
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import FromWorker, WorkerCommand, WorkerConnection, WorkerWrite
from reconciler.shell.loop import Loop
from scheduling.objects.times import SECOND
from scheduling.placement.settings import PlacementSettings
from tests import builders
from tests.copies import copied
from tests.reconciler import plain_queues
from tests.reconciler.checked import Asks, MakeController, loop, pods, statuses
from tests.reconciler.plain_queues import NAMESPACE, PLAIN
from tests.reconciler.stored_objects import Manifest, StoredObjects

START = 1_800_000_000 * SECOND
_GENERIC = {"Event": "events"}


class Server(StoredObjects):
    """`listeners` are told of each change. `writes`: what was asked for, without Events."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Callable[[Key], None]] = []
        self.writes: list[tuple[str, Key]] = []

    def add(self, kind: str, manifest: Manifest) -> None:
        meta = manifest["metadata"]
        self.put((kind, f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]), manifest)

    def changed(self, key: Key) -> None:
        for listener in self.listeners:
            listener(key)

    def perform(self, key: Key, action: Action) -> Written | Failed:
        if isinstance(action, Create) and action.resource.plural in _GENERIC.values():
            return Written(key, action, dict(action.body))
        self.writes.append((type(action).__name__, key))
        namespace = action.namespace if isinstance(action, Create) else None
        if namespace and ("Namespace", namespace) not in self.objects:
            return Failed(key, action, NotFound(404, "NotFound", "no such namespace"))
        return super().perform(key, action)


class Cluster:
    """A loop on a server. `controllers` run beside the controller of jobs."""

    spans: SpanRecorder | None = None

    def __init__(
        self,
        server: Server,
        clock: Callable[[], int],
        kinds: tuple[JobKind, ...] = (BATCH,),
        spans: SpanRecorder | None = None,
    ) -> None:
        self.server = server
        self.spans = spans
        self.loop = self._loop(clock, (jobs_of(kinds), pods))

    @property
    def core(self) -> Core:
        return self.loop.core

    def _loop(self, clock: Callable[[], int], controllers: tuple[MakeController, ...]) -> Loop:
        made = loop(Asks(self._write, self._read), (*controllers, statuses), clock=clock, spans=self.spans)
        self._listen(made)
        return made

    def _listen(self, made: Loop) -> None:
        self.server.listeners = [each for each in self.server.listeners if getattr(each, "foreign", False)]
        self.server.listeners.append(lambda key: self._hear(made, key))
        for watched in made.core.informer.watched.values():
            observed = tuple(self._observed(watched, key) for key in self.server.objects if key[0] == watched.kind)
            made.inbox.put(Listed(watched.kind, observed, str(self.server.version)))

    def _hear(self, made: Loop, key: Key) -> None:
        watched = made.core.informer.watched.get(key[0])
        if watched is not None:
            made.inbox.put(self._observed(watched, key))

    def _observed(self, watched: WatchedKind, key: Key) -> Observed:
        found = self.server.objects.get(key)
        if found is None:
            return Observed(key, str(self.server.version), None)
        return watched.observed(copied(found))

    def _write(self, key: Key, action: Action) -> None:
        self.loop.inbox.put(self.server.perform(key, action))

    def _read(self, key: Key, resource: Resource) -> None:
        self.loop.inbox.put(self.server.look_up(key))

    def get(self, kind: str, name: str) -> Manifest | None:
        return self.server.objects.get((kind, name))


class Links:
    """The connections of the manager. `silent`: writes of these (cluster, kind) arrive, but their answer does not.
    `slow_watches`: answers come before what watches report, and overtake each other.
    `late`: the kinds whose watches report nothing until `catch_up`."""

    def __init__(
        self, workers: dict[str, Cluster], clock: Callable[[], int], origin: str, kinds: tuple[JobKind, ...]
    ) -> None:
        self.workers = workers
        self.clock = clock
        self.cut: set[str] = set()
        self.silent: set[tuple[str, str]] = set()
        self.slow_watches = False
        self.late: set[str] = set()
        jobs = watched_jobs(kinds)
        self.watched = {each.kind: each for each in remote_kinds(origin, (*jobs, REMOTE_PODS))}
        self.manager: Loop | None = None
        self.reported: list[Callable[[], None]] = []
        self.watched_later: list[Callable[[], None]] = []
        self._held: list[Callable[[], None]] = []
        self._known: set[tuple[str, Key]] = set()
        for name, worker in workers.items():
            self._listen(name, worker.server)

    def _listen(self, name: str, server: Server) -> None:
        def hear(key: Key) -> None:
            if name not in self.cut and self.manager is not None:
                later = self.watched_later if self.slow_watches else self.reported
                (self._held if key[0] in self.late else later).append(lambda: self._pass(name, key))

        hear.foreign = True  # type: ignore[attr-defined]
        server.listeners.append(hear)

    def _pass(self, name: str, key: Key) -> None:
        if name not in self.cut and self.manager is not None and key[0] in self.watched:
            found = self.workers[name].server.objects.get(key)
            if found is not None and not self._shown(key[0], found):
                if (name, key) not in self._known:
                    return
                found = None  # without its label the watch reports a deletion
            (self._known.add if found is not None else self._known.discard)((name, key))
            observed = Observed(key, str(self.workers[name].server.version), None)
            self._report(name, self.watched[key[0]].observed(copied(found)) if found else observed)

    def _shown(self, kind: str, manifest: Manifest) -> bool:
        label_selector = self.watched[kind].label_selector
        if label_selector is None:
            return True
        key, _, value = label_selector.partition("=")
        return (manifest["metadata"].get("labels") or {}).get(key) == value

    def execute(self, command: WorkerCommand) -> None:
        """Writes only: the test sets the connections, and since when."""
        if isinstance(command, WorkerWrite):
            self.write(command.cluster, command.key, command.action)

    def write(self, cluster: str, key: Key, action: Action) -> None:
        lost = Unreachable(cluster, "no answer", "look at the network")
        if cluster in self.cut:
            outcome: Outcome = Failed(key, action, lost)
        else:
            outcome = self.workers[cluster].server.perform(key, action)
            if (cluster, key[0]) in self.silent:
                outcome = Failed(key, action, lost)
        self.reported.append(lambda: self._report(cluster, outcome))

    def connect(self, name: str) -> None:
        self.cut.discard(name)
        assert self.manager is not None
        server = self.workers[name].server
        for kind, watched in self.watched.items():
            objects = (each for each in server.objects.items() if each[0][0] == kind)
            observed = tuple(watched.observed(copied(found)) for _, found in objects if self._shown(kind, found))
            self._report(name, Listed(kind, observed, str(server.version)))
        self._report(name, WorkerConnection("connected", "Active", "Connected", self.clock()))

    def _report(self, name: str, news: Observed | Listed | Outcome | WorkerConnection) -> None:
        if self.manager is not None:
            self.manager.inbox.put(FromWorker(name, news))

    def change_kubeconfig(self, name: str) -> None:
        self._report(name, WorkerConnection("connecting"))
        self.connect(name)

    def lose(self, name: str) -> None:
        self.cut.add(name)
        self.tell_lost(name, self.clock())

    def tell_lost(self, name: str, since: int) -> None:
        """As stored in the condition of its MultiKueueCluster."""
        assert self.manager is not None
        self._report(name, WorkerConnection("lost", "ClientConnectionFailed", "no answer", since))

    def catch_up(self) -> None:
        self.late.clear()
        held, self._held = self._held, []
        self.reported += held

    def flow(self) -> bool:
        reported, self.reported = self.reported, []
        if self.slow_watches:
            reported.reverse()
        if not reported:
            reported, self.watched_later = self.watched_later, []
        for each in reported:
            each()
        return bool(reported)


class Manager(Cluster):
    def __init__(
        self,
        server: Server,
        links: Links,
        clock: Callable[[], int],
        placing: PlacementSettings,
        kinds: tuple[JobKind, ...],
        spans: SpanRecorder | None,
        *,
        pods: bool,
    ) -> None:
        self.spans = spans
        self.pods = pods
        self.links = links
        self.kinds = kinds
        self.placing = placing
        self.server = server
        self.start(clock)

    def start(self, clock: Callable[[], int]) -> None:
        """A new process: it knows the stored objects, and connects to the reachable workers."""
        self.loop = self._loop(clock, (jobs_of(self.kinds), pods, self._placement))
        self.loop.workers = self.links.execute
        self.links.manager = self.loop
        self.links.reported.clear()
        for name in self.links.workers:
            if name not in self.links.cut:
                self.links.connect(name)

    def _placement(self, state: ClusterState) -> PlacementController:
        pairs = zip(self.kinds, watched_jobs(self.kinds), strict=True)
        return PlacementController(state.records.workload, pairs, self.placing, pods=self.pods)


def jobs_of(kinds: tuple[JobKind, ...]) -> MakeController:
    return lambda state: JobsController(state.records.workload, kinds, (POD,), elastic=True)


class World3:
    """The three clusters, and the time. `settle` runs all of them until nothing happens."""

    def __init__(
        self,
        placing: PlacementSettings | None = None,
        kinds: tuple[JobKind, ...] = (BATCH,),
        spans: Mapping[str, SpanRecorder] | None = None,
        *,
        pods: bool = True,
    ) -> None:
        """`spans`: recorders by the name of the cluster, the manager's under `here`. `pods`: Pods are placed, too."""
        self.now = START
        spans = spans or {}
        placing = placing or PlacementSettings()
        self.workers = {name: Cluster(Server(), self.clock, kinds, spans.get(name)) for name in ("east", "west")}
        for worker in self.workers.values():
            queues(worker.server)
        server = Server()
        queues(server, check="multi")
        for name in self.workers:
            server.add("MultiKueueCluster", {"metadata": {"name": name}, "spec": {}})
        server.add("MultiKueueConfig", {"metadata": {"name": "all"}, "spec": {"clusters": ["east", "west"]}})
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
        server.add("AdmissionCheck", _check("multi", parameters))
        self.links = Links(self.workers, self.clock, placing.origin, kinds)
        self.manager = Manager(server, self.links, self.clock, placing, kinds, spans.get("here"), pods=pods)

    def clock(self) -> int:
        return self.now

    def settle(self, seconds: int = 0) -> None:
        self.now += seconds * SECOND
        for _ in range(60):
            before = self._versions()
            self.manager.loop.round(0)
            for worker in self.workers.values():
                worker.loop.round(0)
            if not self.links.flow() and self._versions() == before:
                return
        raise AssertionError("it came to no rest")

    def _versions(self) -> list[int]:
        return [self.manager.server.version, *(worker.server.version for worker in self.workers.values())]

    # --- people and controllers

    def submit(self, name: str, cpus: int = 1, **spec: Any) -> None:
        self.manager.server.add("Job", job(name, cpus, **spec))
        self.settle()

    def workload(self, cluster: str = "") -> Manifest | None:
        """The only one there."""
        server = self.workers[cluster].server if cluster else self.manager.server
        found = [manifest for (kind, _), manifest in server.objects.items() if kind == "Workload"]
        return found[0] if found else None

    def job(self, cluster: str = "", name: str = "train") -> Manifest | None:
        server = self.workers[cluster].server if cluster else self.manager.server
        return server.objects.get(("Job", f"ns/{name}"))

    def runs_on(self, name: str = "train") -> list[str]:
        jobs = {cluster: self.job(cluster, name) for cluster in self.workers}
        return [cluster for cluster, found in jobs.items() if found is not None and not found["spec"]["suspend"]]

    def report(self, cluster: str, status: Manifest, name: str = "train") -> None:
        """What the Job controller of a worker says."""
        server = self.workers[cluster].server
        server.add("Job", {**server.objects["Job", f"ns/{name}"], "status": status})
        self.settle()

    def check(self) -> tuple[str, str]:
        found = self.workload()
        assert found is not None
        (state,) = found["status"]["admissionChecks"]
        return state["state"], state["message"]


def queues(server: Server, check: str = "", cpus: int = 8) -> None:
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": check}]}} if check else {}
    server.add("Namespace", NAMESPACE)
    server.add("ResourceFlavor", PLAIN)
    server.add("ClusterQueue", builders.cluster_queue("cq", None, plain_queues.cpus(cpus), **strategy))
    server.add("LocalQueue", builders.local_queue("main", "cq"))


def _check(name: str, parameters: Manifest) -> Manifest:
    active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    return {
        "metadata": {"name": name},
        "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters},
        "status": {"conditions": [active]},
    }


def job(name: str, cpus: int = 1, **spec: Any) -> Manifest:
    """For a worker to run, in the LocalQueue main."""
    managed = {"suspend": True, "parallelism": 1, "managedBy": "kueue.x-k8s.io/multikueue"}
    pods = builders.template(str(cpus))
    return builders.batch_job(name, {**managed, "template": pods, **spec}, labels=builders.queued("main"))
