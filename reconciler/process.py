"""The reconciler as one running thing: reflectors, writers, the Lease, and the loop in a thread of its own."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from cluster.client import Cluster
from cluster.reflector import Reflector
from cluster.resource import PODS
from policies.dialects.core import POD
from reconciler.call import asked
from reconciler.feed import Seen
from reconciler.follow import follow
from reconciler.job_side import JobSide, jobs_of
from reconciler.jobs.batch_job import BATCH
from reconciler.jobs.kind import JobKind
from reconciler.loop import Loop, Message
from reconciler.managed_jobs import ManagedJobs
from reconciler.multikueue.assembly import MultiKueue, MultiKueueSettings
from reconciler.permit import Permit
from reconciler.pod_side import FOLLOWED_PODS, PodSide
from reconciler.retention import Retention, RetentionSide
from reconciler.side import MakeSide
from reconciler.usage_side import UsageSide
from reconciler.witness import Nobody, Witness
from reconciler.writer import Writer
from scheduling.objects.order import Ordering
from scheduling.objects.requests import DEFAULT, Counting
from scheduling.queues.consumption import Consumption, UsageDecay
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.world.world import World

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How it decides; `waiting` None: pods may take for ever to be ready. `kinds` are the jobs that it queues, `jobs`
    which of them; `pods`: Pods that name a queue, too. `fading`: LocalQueues are told apart by what they used of late.
    """

    options: Options = field(default_factory=Options)
    ordering: Ordering = field(default_factory=Ordering)
    counting: Counting = DEFAULT
    waiting: WaitForPodsReady | None = None
    kinds: tuple[JobKind, ...] = (BATCH,)
    jobs: ManagedJobs = field(default_factory=ManagedJobs)
    fading: UsageDecay | None = None
    retention: Retention = field(default_factory=Retention)
    pods: bool = True
    multikueue: MultiKueueSettings | None = None


def _sides(settings: Settings, world: World) -> Iterator[MakeSide]:
    """What looks after all that."""
    yield jobs_of(settings.kinds, (POD,) if settings.pods else (), every=settings.jobs.without_queue)
    if settings.pods:
        yield PodSide
    if settings.fading is not None:
        yield lambda _: UsageSide(world)
    if settings.retention != Retention():
        places = {kind.shape.kind: (kind.name, kind.resource) for kind in settings.kinds}
        if settings.pods:
            places[POD] = (FOLLOWED_PODS.kind, PODS)
        yield lambda look: RetentionSide(look, settings.retention, places)


class Reconciler:
    """Follows `cluster` from `start` to `stop`, and writes while `lease` is held; None: from the beginning.

    `writes` are connections for writing alone, see `Writer`; else those of `cluster`.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: Settings | None = None,
        lease: Permit | None = None,
        witness: Callable[[Loop], Witness] = lambda _: Nobody(),
        writes: Cluster | None = None,
    ) -> None:
        settings = settings or Settings()
        self._cluster = cluster
        self._lease = lease
        self._ended = threading.Event()
        may_write: Callable[[], bool] = lease.held if lease is not None else lambda: not self._ended.is_set()
        consumption = Consumption(settings.fading) if settings.fading is not None else None
        world = World(settings.options, settings.ordering, settings.counting, consumption)
        inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self.away = self._multikueue(settings, inbox.put, may_write)
        self._writer = Writer(cluster, inbox.put, may_write, writes, lambda key: self.loop.known.get(key))
        write, read, relist = self._writer.write, self._writer.read, self._writer.relist
        self.loop = Loop(
            world,
            write,
            read,
            may_write,
            relist,
            sides=(*_sides(settings, world), *(self.away.sides if self.away is not None else ())),
            waiting=settings.waiting,
            managed=settings.jobs,
            inbox=inbox,
            inherits=lease.inherits if lease is not None else lambda: False,
        )
        self._reflectors: list[Reflector[Seen]] = []
        self.loop.witness = witness(self.loop)
        self._thread = threading.Thread(target=self._run, name="reconciler", daemon=True)

    def _multikueue(
        self, settings: Settings, post: Callable[[Message], None], may_write: Callable[[], bool]
    ) -> MultiKueue | None:
        """What sends work to other clusters, where that is asked for."""
        if settings.multikueue is None:
            return None
        jobs = JobSide(lambda _: None, settings.kinds, every=settings.jobs.without_queue).followed
        kinds = zip(settings.kinds, jobs, strict=True)
        return MultiKueue(self._cluster, settings.multikueue, post, may_write, kinds, pods=settings.pods)

    def start(self) -> None:
        """Begin to follow; returns at once."""
        if self.away is not None:
            self.away.start()
        self._reflectors = follow(
            self._cluster, self.loop.inbox.put, self.loop.followed.values(), known=self.loop.known.get
        )
        if self._lease is not None:
            self._lease.start()
        self._thread.start()

    def stop(self) -> None:
        """End after the present round; writes that were begun are waited for, then the Lease is given up."""
        self._ended.set()
        for reflector in self._reflectors:
            reflector.stop(timeout=0)
        self._thread.join(timeout=10)
        if self.away is not None:
            self.away.stop()
        self._writer.close()
        if self._lease is not None:
            self._lease.stop()
        for reflector in self._reflectors:
            reflector.stop()

    @property
    def ready(self) -> bool:
        """Whether it knows everything there is."""
        return self.loop.complete

    @property
    def alive(self) -> bool:
        """Whether the loop runs."""
        return self._thread.is_alive()

    def unknown(self) -> list[str]:
        """The kinds that were not listed yet."""
        return sorted(self.loop.followed.keys() - self.loop.known.listed)

    def obstacles(self) -> list[str]:
        """Of each of these kinds what keeps it from being listed, as far as that is known."""
        errors = {each.resource: each.last_error for each in self._reflectors}
        told = {kind: errors.get(self.loop.followed[kind].resource) for kind in self.unknown()}
        return [f"{kind}: not listed yet{f'; {error}' if error else ''}" for kind, error in told.items()]

    def absent(self) -> list[str]:
        """The resources that are not installed, and are looked for from time to time."""
        return sorted(str(each.resource) for each in self._reflectors if each.state == "absent")

    def ask(self, question: Callable[[Loop], T], timeout: float = 5.0) -> T:
        """What `question` reads of the loop, in its thread between two steps; it must be short.

        Raises TimeoutError where the loop has no time for it within so many seconds, and what the question raises.
        """
        call, answer = asked(lambda: question(self.loop))
        self.loop.inbox.put(call)
        try:
            return answer.result(timeout)
        except TimeoutError:
            answer.cancel()
            raise

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self.loop.round()
        except Exception:
            # What was taken from the inbox is lost, and half a round may be in the world: going on from there could
            # give the same quota twice. A new process reads all anew.
            log.exception("a round failed by a fault of ours; the reconciler ends, for a new one to start afresh")
