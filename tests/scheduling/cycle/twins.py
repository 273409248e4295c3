"""Two engines over the same drawn events: ours, and a plain one that asks each head anew in each cycle.

Several flavors, groups of resources, limits of three levels, preemption of all kinds, both strategies, AdmissionChecks,
partial admission; quota that is edited, queues that move, stop and go.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from policies.dialects.kueue_flavor import Flavor
from policies.dialects.selectors import LabelSelector
from policies.model.pools import Terms
from scheduling.cycle.known_assignments import KnownAssignments, Shape
from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.scan_progress import Progress
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import (
    ANY,
    BEST_EFFORT_FIFO,
    BORROWING_OVER_PREEMPTION,
    LOWER_OR_NEWER,
    LOWER_PRIORITY,
    PREEMPTION_OVER_BORROWING,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
    ClusterQueueSettings,
    CohortSettings,
    FlavorGroup,
    Fungibility,
    PreemptionPolicy,
)
from scheduling.objects.workload import CheckState
from scheduling.preemption.targets import PreemptionReason
from scheduling.queues.entry import PendingEntry
from scheduling.quota.state import ClusterQueueState, Options
from scheduling.status.eviction import preempt
from scheduling.world.decisions import Decision, Preempt, Reserve
from tests.scheduling.cluster import Cluster
from tests.scheduling.manifests import pod_set, workload

_GROUPS = (
    FlavorGroup(frozenset(["gpu"]), ("on-demand", "spot")),
    FlavorGroup(frozenset(["cpu", "memory"]), ("small", "large")),
)
_PAIRS = tuple(
    FlavorResource(flavor, resource) for group in _GROUPS for flavor in group.flavors for resource in group.resources
)
_QUEUES = tuple(f"q{place}" for place in range(6))
_COHORTS = ("top", "c0", "c1", "c2")


class Unkept(KnownAssignments):
    """Remembers nothing: every head is asked."""

    def shape(self, queue: ClusterQueueState, entry: PendingEntry, resume: Progress | None) -> Shape | None:
        return None


@dataclass
class Twins:
    """`reserved` and `preempted` count what was decided."""

    ours: Cluster
    plain: Cluster
    reserved: int = 0
    preempted: int = 0

    @classmethod
    def of(cls, options: Options) -> Twins:
        made = cls(Cluster(options), Cluster(options))
        made.plain.engine._known = Unkept(made.plain.world.state)
        return made

    def both(self, event: Callable[[Cluster], object]) -> None:
        for cluster in (self.ours, self.plain):
            event(cluster)

    def step(self) -> bool:
        """One cycle of each; whether it decided anything."""
        found, expected = self.ours.step(), self.plain.step()
        assert list(map(_told, expected)) == list(map(_told, found))
        assert self.plain.workloads == self.ours.workloads
        self.reserved += sum(isinstance(each, Reserve) for each in found)
        self.preempted += sum(isinstance(each, Preempt) for each in found)
        return bool(found)

    def settle(self) -> None:
        for _ in range(300):
            stopped = self.ours.stop_victims()
            assert stopped == self.plain.stop_victims()
            if not self.step() and not stopped:
                return


def _told(decision: Decision) -> tuple[Any, ...]:
    """What a decision says, in values."""
    if isinstance(decision, Preempt):
        return decision.target.key, decision.target.reason, decision.preemptor, decision.message
    if isinstance(decision, Reserve):
        return decision.workload, decision.queue, _flavors(decision.assignment)
    told = replace(decision, victims=(), assignment=_flavors(decision.assignment))
    return told, [(target.key, target.reason) for target in decision.victims]


def _flavors(assignment: FlavorAssignment | None) -> FlavorAssignment | None:
    """Without the number of the change that it was made after: changes of several trees come in no order."""
    return replace(assignment, generation=0) if assignment is not None else None


class Drawn:
    """The events of one seed."""

    def __init__(self, seed: int, fair_sharing: bool) -> None:
        self.rng = random.Random(seed)
        options = Options(
            fair_sharing=fair_sharing,
            preemptors_first=self._one_of(True, False),
            recompute_on_overlap=self._one_of(True, False),
        )
        self.twins = Twins.of(options)
        self.made = 0
        self.preempts = self._one_of("never", "some", "some", "all")
        self.twins.both(_furnish)
        for name in _COHORTS:
            self.put_cohort(name)
        for name in _QUEUES:
            self.put_queue(name)

    def play(self, events: int) -> None:
        kinds = [self.submit] * 10 + [self.finish] * 20 + [self.step] * 6 + [self.rest] * 12
        kinds += [self.put_some_queue, self.put_some_cohort, self.drop_queue, self.change, self.check, self.put_flavor]
        for _ in range(events):
            self.rng.choice(kinds)()
        self.rest()

    # --- events

    def submit(self) -> None:
        for _ in range(self.rng.randint(1, 6)):
            self.made += 1
            sets = [self._pod_set(place) for place in range(self._one_of(1, 1, 1, 2))]
            spec = {"queueName": self.rng.choice(_QUEUES), "priority": self._one_of(0, 0, 0, 1, -1)}
            made = workload(*sets, spec=spec, name=f"w{self.made}", uid=f"u{self.made:05}")
            self.twins.both(lambda cluster, made=made: cluster.put(cluster.aged(made)))

    def finish(self) -> None:
        for _ in range(self._one_of(1, 1, 1, 3)):
            running = self.twins.ours.running()
            if running:
                key = self.rng.choice(running)
                self.twins.both(lambda cluster, key=key: (cluster.finish(key), cluster.drop(key)))

    def step(self) -> None:
        self.twins.step()

    def rest(self) -> None:
        self.twins.settle()

    def put_some_queue(self) -> None:
        self.put_queue(self.rng.choice(_QUEUES))

    def put_some_cohort(self) -> None:
        self.put_cohort(self.rng.choice(_COHORTS))

    def put_queue(self, name: str) -> None:
        settings = self._queue(name)
        self.twins.both(lambda cluster: cluster.put_queue(settings))

    def drop_queue(self) -> None:
        """It comes back as it was; what ran in it counts again."""
        name = self.rng.choice(_QUEUES)
        settings = self.twins.ours.queues[name]
        self.twins.both(lambda cluster: cluster.drop_queue(name))
        self.step()
        self.twins.both(lambda cluster: cluster.put_queue(settings))

    def put_cohort(self, name: str) -> None:
        """Mostly three levels."""
        above = {"top": None, "c0": "top", "c1": "top", "c2": self._one_of("c0", "c1", "top", None)}[name]
        settings = CohortSettings(name, above, self._terms() if self.rng.random() < 0.5 else {})
        self.twins.both(lambda cluster: cluster.put_cohort(settings))

    def put_flavor(self) -> None:
        flavor = Flavor("spot", {"zone": self._one_of("a", "b")})
        self.twins.both(lambda cluster: (cluster.tick(), cluster.world.put_flavor(flavor)))

    def change(self) -> None:
        """The spec of a workload that waits, or how many of its pods are done."""
        waiting = self.twins.ours.pending()
        if waiting:
            key = self.rng.choice(waiting)
            fields = self._one_of(
                {"base": 1}, {"queue": self.rng.choice(_QUEUES)}, {"active": False}, {"reclaimable": {"main0": 1}}
            )
            self.twins.both(lambda cluster: cluster.put(replace(cluster.workloads[key], **fields)))

    def check(self) -> None:
        """One asks for another try, or who runs is evicted."""
        running = self.twins.ours.running()
        if not running:
            return
        key = self.rng.choice(running)
        if self.rng.random() < 0.5:
            told = CheckState("check", self._one_of("Retry", "Ready", "Pending"))
            self.twins.both(lambda cluster: cluster.put(replace(cluster.workloads[key], checks=(told,))))
        else:
            reason = PreemptionReason.IN_CLUSTER_QUEUE
            self.twins.both(
                lambda cluster: cluster.put(preempt(cluster.workloads[key], reason, "evicted", cluster.now))
            )

    # --- values

    def _one_of(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def _pod_set(self, place: int) -> dict[str, Any]:
        requests = {"gpu": str(self._one_of(1, 1, 2, 5))} if self.rng.random() < 0.8 else {"cpu": "1", "memory": "2"}
        if self.rng.random() < 0.2:
            requests |= {"cpu": str(self._one_of(1, 3)), "memory": "1"}
        count = self._one_of(1, 1, 1, 3)
        made = pod_set(f"main{place}", count, **requests)
        if self.rng.random() < 0.1:
            made["template"]["spec"]["nodeSelector"] = {"zone": "a"}
        return {**made, "minCount": 1} if place == 0 and count > 1 and self.rng.random() < 0.7 else made

    def _terms(self) -> dict[FlavorResource, Terms]:
        return {
            pair: Terms(
                self._one_of(0, 2, 4, 8) * (1000 if pair.resource == "cpu" else 1),
                self._one_of(None, None, None, 0, 2),
                self._one_of(None, None, None, 0, 1),
            )
            for pair in _PAIRS
        }

    def _queue(self, name: str) -> ClusterQueueSettings:
        return ClusterQueueSettings(
            name,
            self._one_of("c0", "c0", "c1", "c1", "c2", "c2", "top", None),
            self._terms(),
            _GROUPS if self.rng.random() < 0.7 else _GROUPS[:1],
            strategy=self._one_of(BEST_EFFORT_FIFO, BEST_EFFORT_FIFO, STRICT_FIFO),
            selector=LabelSelector(),
            stop_policy=self._one_of("None", "None", "None", "None", "Hold"),
            preemption=self._policy(),
            fungibility=Fungibility(
                self._one_of(TRY_NEXT_FLAVOR, "MayStopSearch"),
                self._one_of(TRY_NEXT_FLAVOR, "MayStopSearch"),
                self._one_of(BORROWING_OVER_PREEMPTION, PREEMPTION_OVER_BORROWING),
            ),
        )

    def _policy(self) -> PreemptionPolicy:
        if self.preempts == "never":
            return PreemptionPolicy()
        if self.preempts == "some":
            return PreemptionPolicy(LOWER_PRIORITY, self._one_of(ANY, ANY, LOWER_PRIORITY, "Never"))
        return PreemptionPolicy(
            self._one_of("Never", LOWER_PRIORITY, LOWER_OR_NEWER),
            self._one_of("Never", LOWER_PRIORITY, ANY),
            self._one_of("Never", LOWER_PRIORITY),
            self._one_of(None, 0),
        )


def _furnish(cluster: Cluster) -> None:
    for name in ("small", "large"):
        cluster.world.put_flavor(Flavor(name, {}))
