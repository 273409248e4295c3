"""The reconciler as a process: its reflectors, its writers, its Lease, and the thread of the loop."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from cluster.client import ClusterClient
from cluster.errors import SetBack
from cluster.reflector import Reflector
from cluster.resource import PODS
from cluster.tracing.span import SpanRecorder
from policies.configuration.kueue.values import RetentionPolicies
from policies.configuration.settings import Configuration, Dialect
from policies.dialects.core import POD
from reconciler.controllers.clusters import ClustersController
from reconciler.controllers.default_queues import DefaultQueuesController
from reconciler.controllers.jobs.controller import JobsController
from reconciler.controllers.jobs.watched_jobs import watched_jobs
from reconciler.controllers.placement import PlacementController
from reconciler.controllers.pods import WATCHED_PODS, PodsController
from reconciler.controllers.priorities import PrioritiesController
from reconciler.controllers.provisioning import ProvisioningController
from reconciler.controllers.retention import RetentionController
from reconciler.controllers.shards import ShardsController
from reconciler.controllers.slices.slice_pods import SlicePodsController
from reconciler.controllers.status import StatusController
from reconciler.controllers.topology.node_failures import node_failures
from reconciler.controllers.topology.ungating import UngatingController
from reconciler.controllers.usage import UsageController
from reconciler.controllers.waiting_jobs import WaitingJobsController
from reconciler.core.controller import Controller
from reconciler.core.core import Core
from reconciler.core.state import ClusterState
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.described import JobKind
from reconciler.managed_jobs import ManagedJobs
from reconciler.multikueue.assembly import MultiKueueRunner, MultiKueueSettings
from reconciler.multikueue.pods import REMOTE_PODS
from reconciler.objects.observed import Observed
from reconciler.objects.packed import Packed
from reconciler.objects.watched import WatchedKind, WatchedResource
from reconciler.observer.observer import NullObserver, Observer, Observers
from reconciler.observer.spans import SpanObserver
from reconciler.shards.claims import DEFAULT
from reconciler.shell.call import call_with_result
from reconciler.shell.loop import ClockSetBack, Loop, Message
from reconciler.shell.permit import AlwaysPermitted, LeasePermit
from reconciler.shell.reflectors import follow
from reconciler.shell.write_spans import WriteSpans
from reconciler.shell.writer import Writer
from scheduling.objects.order import Ordering
from scheduling.objects.requests import DEFAULT as AS_DECLARED
from scheduling.objects.requests import Counting
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.status.node_failure import DEFAULT_GATES as FAILURE_GATES
from scheduling.status.node_failure import FailureGates
from scheduling.status.observability import LEGACY, Observability
from scheduling.topology.fleet import Fleet
from scheduling.topology.placing import DEFAULT_GATES, TopologyGates
from scheduling.world.world import World

log = logging.getLogger(__name__)
T = TypeVar("T")
_FIRST_LEASE = 1.0
"""Seconds to wait for the Lease. Then a standby lists all objects, too, so that it is ready to lead."""
_FIRST_ROUNDS = 0.01
"""The seconds between two checks of the Lease in that time."""


@dataclass(frozen=True, slots=True)
class DecisionSettings:
    """How the process decides.

    `options`, `ordering`, `counting`: the settings of the engine.
    `waiting`: how long pods may take to become ready; None for no limit.
    `kinds`: the kinds of jobs that are queued.
    `jobs`: which jobs of these kinds are managed.
    `usage_decay`: usage decay for admission fair sharing; None if it is off.
    `retention`: how long finished and deactivated Workloads are kept.
    `pods`: whether Pods that name a queue are managed, too.
    `cleans_requests`: whether an eviction deletes ProvisioningRequests; otherwise only the end of the Workload does.
    `multikueue`: the settings of MultiKueue; None if it is off.
    `observability`: which reasons Workloads without quota show.
    `dialects`: the projects whose objects are watched and managed.
    `configuration`: the settings that moves of queues are checked against.
    `observes`: whether the process writes nothing, and compares the decisions of other controllers.
    `part`: the part whose trees the process decides for.
    `topologies`: how pods are placed in topologies; None if they are not.
    `failures`: when a node counts as failed for the pods in topologies; None if nodes are not checked.
    """

    options: Options = field(default_factory=Options)
    ordering: Ordering = field(default_factory=Ordering)
    counting: Counting = AS_DECLARED
    waiting: WaitForPodsReady | None = None
    kinds: tuple[JobKind, ...] = (BATCH,)
    jobs: ManagedJobs = field(default_factory=ManagedJobs)
    usage_decay: UsageDecay | None = None
    retention: RetentionPolicies = field(default_factory=RetentionPolicies)
    pods: bool = True
    cleans_requests: bool = True
    multikueue: MultiKueueSettings | None = None
    observability: Observability = LEGACY
    dialects: frozenset[Dialect] = frozenset([Dialect.KUEUE])
    configuration: Configuration = field(default_factory=Configuration)
    observes: bool = False
    part: str = DEFAULT
    topologies: TopologyGates | None = DEFAULT_GATES
    failures: FailureGates | None = FAILURE_GATES


def _controllers(
    settings: DecisionSettings, state: ClusterState, multikueue: MultiKueueRunner | None
) -> Iterator[Controller]:
    if Dialect.KUEUE in settings.dialects:
        yield from _of_kueue(settings, state)
        yield from _of_workers(settings, state, multikueue)
    if settings.dialects - {Dialect.KUEUE}:
        from reconciler.other_queues import controllers_of_others  # imported here because it takes long

        yield from controllers_of_others(settings.dialects, settings.configuration, state, observes=settings.observes)


def _of_kueue(settings: DecisionSettings, state: ClusterState) -> Iterator[Controller]:
    stored, every = state.records.workload, settings.jobs.without_queue
    others, elastic = (POD,) if settings.pods else (), settings.options.elastic
    yield ShardsController(state.partition, state.records)
    yield PrioritiesController(stored)
    yield JobsController(
        stored,
        settings.kinds,
        others,
        every=every,
        elastic=elastic,
        bypasses=state.bypasses,
        counts_ending=settings.configuration.counts_ending,
        count_surplus=state.world.count_surplus,
    )
    if settings.configuration.kueue.manage_jobs and not every:
        yield DefaultQueuesController(settings.kinds, state.bypasses)
    if elastic:
        yield SlicePodsController(stored)
    if settings.pods:
        yield PodsController(stored, state.bypasses, settings.jobs.naming)
    if settings.topologies is not None:
        yield from _of_topologies(settings, state)
    yield ProvisioningController(stored, state.world, cleanup=settings.cleans_requests)
    if settings.usage_decay is not None:
        yield UsageController(state.world)
    if settings.retention != RetentionPolicies():
        places = {kind.shape.kind: (kind.name, kind.resource) for kind in settings.kinds}
        if settings.pods:
            places[POD] = (WATCHED_PODS.kind, PODS)
        yield RetentionController(stored, settings.retention, places)
    yield StatusController(state.world, state.records)
    yield WaitingJobsController(stored, state.world, state.partition.away)


def _of_topologies(settings: DecisionSettings, state: ClusterState) -> Iterator[Controller]:
    """The controllers of work in topologies. Failed nodes are handled before Pods are sent to nodes."""
    failures = node_failures(state, settings.failures) if settings.failures is not None else None
    if failures is not None:
        yield failures
    yield UngatingController(state.records.workload, failures.failing if failures is not None else None)


def fleet_of(settings: DecisionSettings) -> Fleet | None:
    """The nodes of topologies; None if pods are not placed on nodes."""
    places = settings.topologies is not None and Dialect.KUEUE in settings.dialects
    return Fleet(settings.topologies) if places and settings.topologies is not None else None


def _jobs_of_workers(settings: DecisionSettings) -> tuple[WatchedKind[Packed], ...]:
    return watched_jobs(settings.kinds, every=settings.jobs.without_queue)


def _multikueue(
    settings: DecisionSettings, cluster: ClusterClient, post: Callable[[Message], None], may_write: Callable[[], bool]
) -> MultiKueueRunner | None:
    """The connections to other clusters, if MultiKueue is configured."""
    if settings.multikueue is None:
        return None
    watched = (*_jobs_of_workers(settings), *((REMOTE_PODS,) if settings.pods else ()))
    return MultiKueueRunner(cluster, settings.multikueue, post, may_write, watched)


def _of_workers(
    settings: DecisionSettings, state: ClusterState, multikueue: MultiKueueRunner | None
) -> Iterator[Controller]:
    if settings.multikueue is not None and multikueue is not None:
        yield ClustersController(multikueue.connections.workers, counted=settings.multikueue.counted)
        jobs = zip(settings.kinds, _jobs_of_workers(settings), strict=True)
        yield PlacementController(state.records.workload, jobs, settings.multikueue.placing, pods=settings.pods)


class Reconciler:
    """Watches `cluster` from `start` to `stop`, and writes while it holds `lease`. Without a Lease it may always write.

    `writes`: the client for writes, see `Writer`; by default `cluster`.
    `observer`: creates an observer of the core's state.
    `spans`: the recorder of traces; None for no traces.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        settings: DecisionSettings | None = None,
        lease: LeasePermit | None = None,
        observer: Callable[[ClusterState], Observer] = lambda _: NullObserver(),
        writes: ClusterClient | None = None,
        spans: SpanRecorder | None = None,
    ) -> None:
        settings = settings or DecisionSettings()
        self.dialects = settings.dialects
        self._cluster = cluster
        self._permit = lease or AlwaysPermitted()
        self._ended = threading.Event()
        self._reflectors: list[Reflector[tuple[Observed[object], ...]]] = []
        inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        consumption = Consumption(settings.usage_decay) if settings.usage_decay is not None else None
        world = World(settings.options, settings.ordering, settings.counting, consumption, fleet_of(settings))
        state = ClusterState(world, part=settings.part)
        self.multikueue = _multikueue(settings, cluster, inbox.put, self._permit.held)
        watching = observer(state)
        if spans is not None:
            watching = Observers(watching, SpanObserver(spans, self._permit.held))
        self._controllers = [*_controllers(settings, state, self.multikueue)]
        self.core = Core(
            state,
            self._controllers,
            watching,
            settings.waiting,
            settings.jobs,
            settings.observability,
            kueue=Dialect.KUEUE in settings.dialects,
        )
        self._writer = Writer(cluster, inbox.put, self._permit.held, writes, state.records.at)
        traced = WriteSpans(state.records, spans) if spans is not None else None
        workers = self.multikueue.execute if self.multikueue is not None else None
        self.loop = Loop(self.core, self._writer, self._permit, self._follow_one, workers, watching, traced, inbox)
        self._thread = threading.Thread(target=self._run, name="reconciler", daemon=True)

    def start(self) -> None:
        """Start the threads and return at once."""
        if self.multikueue is not None:
            self.multikueue.start()
        self._permit.start()
        self._follow(relisted=False)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the present round. Writes that have begun are completed before the Lease is released."""
        self._ended.set()
        for reflector in self._reflectors:
            reflector.stop(timeout=0)
        self._thread.join(timeout=10)
        if self.multikueue is not None:
            self.multikueue.stop()
        self._writer.close()
        self._permit.stop()
        for reflector in self._reflectors:
            reflector.stop()

    @property
    def ready(self) -> bool:
        """Whether all objects are known."""
        return self.core.state.complete

    @property
    def alive(self) -> bool:
        """Whether the thread of the loop is running."""
        return self._thread.is_alive()

    def unknown(self) -> list[str]:
        """The kinds that have not been listed yet."""
        return sorted(self.core.state.records.unlisted)

    def obstacles(self) -> list[str]:
        """Why each unknown kind has not been listed, as far as that is known."""
        errors = {each.resource: each.last_error for each in self._reflectors}
        found = {kind: errors.get(self.core.informer.watched[kind].resource) for kind in self.unknown()}
        return [f"{kind}: not listed yet{f'; {error}' if error else ''}" for kind, error in found.items()]

    def held_back(self) -> list[str]:
        """The obstacles of controllers that do not write at present."""
        return [each.obstacle for each in self._controllers if each.obstacle]

    def absent(self) -> list[str]:
        """The resources that are not installed. Their reflectors retry from time to time."""
        return sorted(str(each.resource) for each in self._reflectors if each.state == "absent")

    def ask(self, question: Callable[[Core], T], timeout: float = 5.0) -> T:
        """Call `question` with the core in the loop's thread, between two events, and return the result.

        The question must be short. Raises TimeoutError if the loop does not answer in time, and any error of the
        question.
        """
        call, answer = call_with_result(lambda: question(self.core))
        self.loop.inbox.put(call)
        try:
            return answer.result(timeout)
        except TimeoutError:
            answer.cancel()
            raise

    def _follow(self, *, relisted: bool) -> None:
        """Start the reflectors of resources that a new leader lists again (`relisted`), or those of all others."""
        now = (each for each in self.core.informer.resources if not each.on_demand)
        self._begin([each for each in now if each.relist is relisted])

    def _follow_one(self, watched: WatchedResource) -> None:
        if not self._ended.is_set():
            self._begin([watched])

    def _begin(self, chosen: list[WatchedResource]) -> None:
        records = self.core.state.records
        self._reflectors += follow(
            self._cluster,
            self.loop.inbox.put,
            chosen,
            known=records.known,
            awaited=records.progress.awaited,
            note=records.note,
        )

    def _find_out_who_leads(self) -> None:
        """Wait a moment for the Lease. A process that leads from the start then lists some resources only once."""
        until = time.monotonic() + _FIRST_LEASE
        while not self._ended.is_set() and not self.core.leads and time.monotonic() < until:
            self.loop.round(_FIRST_ROUNDS)

    def _run(self) -> None:
        try:
            self._find_out_who_leads()
            if not self._ended.is_set():
                self._follow(relisted=True)
            while not self._ended.is_set():
                self.loop.round()
        except (ClockSetBack, SetBack) as error:
            log.error("%s; the reconciler exits, so that a new process can start afresh", error)
        except Exception:
            # Messages are lost, and the world may include half a round. If the loop continued, it could give the same
            # quota twice. A new process reads everything again.
            log.exception(
                "a round failed with an internal error; the reconciler exits, so that a new process can start afresh"
            )
