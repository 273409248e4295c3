"""A cluster without an API server: it keeps the objects, writes what the engine decides, and plays the jobs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.selectors import LabelSelector
from policies.model.pools import Terms
from scheduling.cycle.engine import AdmissionEngine
from scheduling.cycle.outcome import reserved, waiting
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings, FlavorGroup, LocalQueueSettings
from scheduling.objects.requests import DEFAULT, Counting
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.quota.state import Options
from scheduling.status.deadlines import release
from scheduling.status.eviction import preempt
from scheduling.status.observability import Observability
from scheduling.status.progress import finish
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

FLAVORS = ("on-demand", "spot")
RESOURCE = "gpu"
PAIRS = tuple(FlavorResource(flavor, RESOURCE) for flavor in FLAVORS)
NAMESPACE = "ns"
GRANULAR = Observability(granular=True)


def queue_settings(name: str, cohort: str | None, quota: dict[str, Terms], **fields: object) -> ClusterQueueSettings:
    """A ClusterQueue with quota of one resource by flavor, that serves every namespace."""
    terms = {FlavorResource(flavor, RESOURCE): each for flavor, each in quota.items()}
    groups = (FlavorGroup(frozenset([RESOURCE]), tuple(quota)),) if quota else ()
    return ClusterQueueSettings(name, cohort, terms, groups, selector=LabelSelector(), **fields)  # type: ignore[arg-type]


@dataclass
class Cluster:
    """`options`, `counting` as for the engine. Time moves by a second with each event."""

    options: Options = field(default_factory=Options)
    counting: Counting = DEFAULT
    now: int = SECOND
    queues: dict[str, ClusterQueueSettings] = field(default_factory=dict)
    cohorts: dict[str, CohortSettings] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    decided: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = self.fresh()
        self.engine = AdmissionEngine(self.world)

    def fresh(self) -> World:
        """A world made of the objects as they are."""
        world = World(self.options, counting=self.counting)
        for flavor in FLAVORS:
            world.put_flavor(Flavor(flavor, {}))
        world.put_namespace(NAMESPACE, {})
        for cohort in self.cohorts.values():
            world.put_cohort(cohort, self.now)
        for queue in self.queues.values():
            world.put_queue(queue, self.now)
            world.put_local_queue(LocalQueueSettings(NAMESPACE, queue.name, queue.name), self.now)
        for workload in self.workloads.values():
            world.put_workload(workload, self.now)
        return world

    # --- what people do

    def put_queue(self, queue: ClusterQueueSettings) -> None:
        self.tick()
        self.queues[queue.name] = queue
        self.world.put_queue(queue, self.now)
        self.world.put_local_queue(LocalQueueSettings(NAMESPACE, queue.name, queue.name), self.now)

    def drop_queue(self, name: str) -> None:
        self.tick()
        if self.queues.pop(name, None):
            self.world.drop_local_queue(f"{NAMESPACE}/{name}")
            self.world.drop_queue(name, self.now)

    def put_cohort(self, cohort: CohortSettings) -> None:
        self.tick()
        self.cohorts[cohort.name] = cohort
        self.world.put_cohort(cohort, self.now)

    def drop_cohort(self, name: str) -> None:
        self.tick()
        if self.cohorts.pop(name, None):
            self.world.drop_cohort(name, self.now)

    def put(self, workload: Workload) -> None:
        self.tick()
        self.write(workload)

    def drop(self, key: str) -> None:
        self.tick()
        if self.workloads.pop(key, None):
            self.world.drop_workload(key)

    # --- what controllers do

    def tick(self) -> None:
        self.now += SECOND

    def write(self, workload: Workload) -> None:
        self.workloads[workload.key] = workload
        self.world.put_workload(workload, self.now)

    def step(self) -> list[Decision]:
        """One cycle, written."""
        self.tick()
        decisions = self.engine.step(self.now)
        self.decided += decisions
        for decision in decisions:
            self._carry_out(decision)
        return decisions

    def settle(self, most: int = 200) -> None:
        """Cycles until nothing is left to decide; the jobs of victims stop in between."""
        for _ in range(most):
            stopped = self.stop_victims()
            if not self.step() and not stopped:
                return
        raise AssertionError(f"no rest after {most} cycles; the last decisions: {self.decided[-5:]}")

    def stop_victims(self) -> bool:
        """The jobs of evicted workloads stop, which frees their quota."""
        victims = [workload for workload in self.workloads.values() if workload.evicted and workload.reserved]
        for workload in victims:
            self.write(release(workload, self.now))
        return bool(victims)

    def finish(self, key: str) -> None:
        self.tick()
        self.write(finish(self.workloads[key], "Succeeded", "", self.now))

    def _carry_out(self, decision: Decision) -> None:
        if isinstance(decision, Reserve):
            before = self.workloads[decision.workload.key]
            self.write(reserved(before, decision, self.queues[decision.queue], self.now))
        elif isinstance(decision, Preempt):
            victim = self.workloads[decision.target.key]
            self.write(preempt(victim, decision.target.reason, decision.message, self.now))
        else:
            self._told_to_wait(decision)

    def _told_to_wait(self, decision: Wait) -> None:
        before = self.workloads[decision.workload.key]
        after = waiting(before, decision, self.now, self.world.counting)
        if after is not before:
            self.write(after)

    # --- what there is

    def running(self) -> list[str]:
        return sorted(key for key, workload in self.workloads.items() if workload.counts)

    def pending(self) -> list[str]:
        return sorted(key for key, workload in self.workloads.items() if workload.queueable)

    def aged(self, workload: Workload) -> Workload:
        return replace(workload, created=self.now)
