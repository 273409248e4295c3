"""What decisions work on: the quota tree, the flavors, and the workloads that hold quota.

Mutable, but only within the engine. Decisions try changes in a `simulation`, which undoes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from policies.dialects.kueue_flavor import Flavor
from scheduling.objects.amounts import Usage
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings
from scheduling.objects.workload import Workload
from scheduling.quota.touched import Touched
from scheduling.quota.tree import QuotaNode, QuotaTree
from scheduling.quota.usage_sum import UsageSum
from scheduling.topology.fleet import Fleet, HeldPlaces

LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the engine that come from Kueue's Configuration and feature gates.

    `fair_sharing`: shares decide instead of borrowing levels. `ignore_undeclared`: a resource that the ClusterQueue
    does not cover needs no quota (quotaCheckStrategy IgnoreUndeclared). `partial_admission`, `recompute_on_overlap`,
    `preemptors_first`: the gates PartialAdmission, RecomputeAssignmentUponPreemptionTargetsOverlap and
    PrioritizePreemptorWorkloads. Without the last two workloads may preempt each other indefinitely
    (docs/adr/2026-11-22-gates-of-preemption-as-in-kueue.md). `nominal_first`: quota within the nominal is reclaimed
    without comparing shares (the gate FairSharingPreemptWithinNominal). `admission_gates`: a workload with the
    annotation admission-gated-by is in no queue (the gate AdmissionGatedBy). `elastic`: a slice of an elastic job takes
    over the quota of the one that it replaces (the gate ElasticJobsViaWorkloadSlices). `compat`: do as Kueue does even
    where it is wrong (docs/adr). `gated_preemption`: a closed preemption gate keeps a workload from preempting (the
    gate MultiKueueOrchestratedPreemption). `orchestrated`: status.effectiveQuotas applies in place of the quotas of
    spec (the gate DynamicQuotaOrchestration). `recompute_places`: a head whose places another one took looks for
    others in the same cycle (the gate TASRecomputeAssignmentWithinSchedulingCycle). `topologies`: a flavor with a
    topology takes only work that has places there; without it, topologies are ignored (the gate
    TopologyAwareScheduling). `encode_by_prefix`: see `written_topology_assignment` (the gate
    TASAssignmentsEncodingByHostnamePrefix). `fail_fast`: a workload without places for the pods of a failed node is
    evicted (the gate TASFailedNodeReplacementFailFast). `replace_together`: the pods of all unhealthy nodes of a
    workload get other places at once, and none of them on such a node (the gate TASReplaceMultipleFailedNodes).
    """

    fair_sharing: bool = False
    strategies: tuple[str, ...] = (LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, LESS_THAN_INITIAL_SHARE)
    ignore_undeclared: bool = False
    partial_admission: bool = True
    recompute_on_overlap: bool = False
    preemptors_first: bool = False
    nominal_first: bool = True
    admission_gates: bool = True
    elastic: bool = True
    compat: bool = False
    gated_preemption: bool = False
    orchestrated: bool = False
    recompute_places: bool = True
    topologies: bool = True
    encode_by_prefix: bool = True
    fail_fast: bool = True
    replace_together: bool = False


@dataclass(slots=True, eq=False)
class Reservation:
    """A workload that holds quota in a ClusterQueue: QuotaReserved, not finished, active. `usage` is by pair.

    `places` are those of its pods in topologies. `order`: its place among candidates for preemption, kept by
    `scheduling.preemption.candidates.order_key`; None before the first search.
    """

    workload: Workload
    queue: ClusterQueueState
    usage: Usage
    places: tuple[HeldPlaces, ...] = ()
    order: tuple[object, ...] | None = field(default=None, init=False, repr=False)

    @property
    def key(self) -> str:
        return self.workload.key

    @property
    def local_queue(self) -> str:
        return self.workload.local_queue

    def counts_as(self, other: Reservation) -> bool:
        """Whether both leave the same sums, of the same workload."""
        mine, others = self.workload, other.workload
        return (
            self.queue is other.queue
            and mine.priority == others.priority
            and mine.admitted == others.admitted
            and self.local_queue == other.local_queue
            and self.usage == other.usage
            and self.places == other.places
        )


@dataclass(slots=True, eq=False)
class ClusterQueueState:
    """A ClusterQueue with its node in the tree.

    `by_priority`: the reservations by priority, where most searches for victims end early.
    `in_turn`: the reservations by priority, in the order of preemption, kept by `scheduling.preemption.candidates`.
    A priority is missing until a search requests it, and after one of its reservations changed.
    `usage`, `usage_by_local_queue`: sums of the reservations, in total and by LocalQueue (`namespace/name`).
    `inactive`: why it admits nothing; empty if it admits. An inactive queue still lends, and nobody is preempted in it.
    `generation`: see `QuotaState.generation`.
    """

    settings: ClusterQueueSettings
    node: QuotaNode
    reservations: dict[str, Reservation] = field(default_factory=dict)
    by_priority: dict[int, dict[str, Reservation]] = field(default_factory=dict)
    in_turn: dict[int, list[Reservation]] = field(default_factory=dict)
    usage: UsageSum = field(default_factory=UsageSum)
    usage_by_local_queue: dict[str, UsageSum] = field(default_factory=dict)
    inactive: str = ""
    generation: int = 0

    @property
    def name(self) -> str:
        return self.settings.name

    def hold(self, reservation: Reservation) -> None:
        self.reservations[reservation.key] = reservation
        self.by_priority.setdefault(reservation.workload.priority, {})[reservation.key] = reservation
        self.in_turn.pop(reservation.workload.priority, None)
        self._count(reservation, 1)

    def renew(self, reservation: Reservation) -> None:
        """Replace a reservation by one that counts the same usage."""
        self.reservations[reservation.key] = reservation
        self.by_priority[reservation.workload.priority][reservation.key] = reservation
        self.in_turn.pop(reservation.workload.priority, None)

    def let_go(self, reservation: Reservation) -> None:
        """Remove the reservation and its usage. Raises KeyError if the queue does not hold it."""
        del self.reservations[reservation.key]
        alike = self.by_priority[reservation.workload.priority]
        del alike[reservation.key]
        self.in_turn.pop(reservation.workload.priority, None)
        if not alike:
            del self.by_priority[reservation.workload.priority]
        self._count(reservation, -1)

    def _count(self, reservation: Reservation, sign: int) -> None:
        workload, local = reservation.workload, reservation.local_queue
        mine = self.usage_by_local_queue.get(local) or self.usage_by_local_queue.setdefault(local, UsageSum())
        for total in (self.usage, mine):
            total.add(reservation.usage, workload.admitted, sign)
        if not mine.reserving:
            del self.usage_by_local_queue[local]


class QuotaState:
    """Everything that has or uses quota. `away`: workloads that the current simulation leaves out.

    `edits` counts the changes of quota, edges and flavors. `fleet` has the nodes with their topologies; None if no
    places are assigned. `deleted_cohorts`: those that others still name, while nothing below has changed since.
    """

    def __init__(self, options: Options | None = None, fleet: Fleet | None = None) -> None:
        self.fleet = fleet
        self.options = options or Options()
        self.tree = QuotaTree()
        self.queues: dict[str, ClusterQueueState] = {}
        self.flavors: dict[str, Flavor] = {}
        self.reservations: dict[str, Reservation] = {}
        self.touched = Touched()
        self.away: set[str] = set()
        self.deleted_cohorts: set[str] = set()
        self.edits = 0
        self._changes = 0
        self._changed_trees: dict[QuotaNode, int] = {}

    def put_queue(self, settings: ClusterQueueSettings) -> ClusterQueueState:
        """Add or update a ClusterQueue; its reservations stay."""
        self.edits += 1
        self.tree.put_queue(settings.name, settings.cohort, settings.terms, settings.weight)
        queue = self.queues.get(settings.name)
        if queue is None:
            queue = self.queues[settings.name] = ClusterQueueState(settings, self.tree.queues[settings.name])
        queue.settings = settings
        self.touch(queue)
        self._changed_below(queue.node)
        return queue

    def put_cohort(self, settings: CohortSettings) -> None:
        self.edits += 1
        self.tree.put_cohort(settings.name, settings.parent, settings.terms, settings.weight)
        self._changed_below(self.tree.cohorts[settings.name])

    def drop_cohort(self, name: str) -> None:
        self.edits += 1
        self.tree.drop_cohort(name)
        if name in self.tree.cohorts:
            self.deleted_cohorts.add(name)

    def _changed_below(self, node: QuotaNode) -> None:
        if self.deleted_cohorts:
            self.deleted_cohorts.difference_update(above.name for above in node.path() if not above.is_queue)

    def put_flavor(self, flavor: Flavor) -> None:
        self.edits += 1
        self.flavors[flavor.name] = flavor

    def drop_flavor(self, name: str) -> bool:
        """Remove a flavor. Returns False if it does not exist."""
        self.edits += 1
        return self.flavors.pop(name, None) is not None

    def drop_queue(self, name: str) -> None:
        """Remove a ClusterQueue with its reservations. Raises KeyError if there is none."""
        self.edits += 1
        for key in self.queues.pop(name).reservations:
            self.count_places(self.reservations.pop(key).places, -1)
        self._changed_below(self.tree.queues[name])
        self.tree.drop_queue(name)

    def touch(self, queue: ClusterQueueState) -> None:
        """Earlier searches for flavors in the ClusterQueue may be outdated."""
        self._changes += 1
        queue.generation = self._changes

    def touch_tree(self, root: QuotaNode) -> None:
        """Earlier searches for flavors in any ClusterQueue of the tree may be outdated."""
        self._changes += 1
        self._changed_trees[root] = self._changes

    def generation(self, queue: ClusterQueueState) -> int:
        """Grows when the ClusterQueue or its tree is touched."""
        return max(queue.generation, self._changed_trees.get(queue.node.root, 0))

    def reserve(self, reservation: Reservation) -> None:
        """Count a workload's usage, in place of what it held before. Most of its news leaves that as it is."""
        before = self.reservations.get(reservation.key)
        if before is not None and before.counts_as(reservation):
            self.reservations[reservation.key] = reservation
            reservation.queue.renew(reservation)
            return
        self.release(reservation.key)
        self.reservations[reservation.key] = reservation
        reservation.queue.hold(reservation)
        self.touched.usage(reservation.queue.name, reservation.local_queue)
        self.tree.add(reservation.queue.node, reservation.usage)
        self._changed_below(reservation.queue.node)
        self.count_places(reservation.places)

    def release(self, key: str) -> Reservation | None:
        """Free what the workload held and return it; None if it held nothing."""
        reservation = self.reservations.pop(key, None)
        if reservation is not None:
            reservation.queue.let_go(reservation)
            self.touched.usage(reservation.queue.name, reservation.local_queue)
            self.tree.remove(reservation.queue.node, reservation.usage)
            self._changed_below(reservation.queue.node)
            self.count_places(reservation.places, -1)
        return reservation

    def count_places(self, places: Iterable[HeldPlaces], times: int = 1) -> None:
        """Hold these places in the topologies, or with `times` -1 release them."""
        if self.fleet is not None:
            self.fleet.count(places, times)

    @contextmanager
    def simulation(self) -> Iterator[None]:
        """Undo at the end what is counted within, in the tree and in the topologies. Simulations nest."""
        with self.tree.simulation(), self.fleet.simulation() if self.fleet is not None else nullcontext():
            yield

    @contextmanager
    def spared(self, key: str) -> Iterator[None]:
        """Within the block, nobody preempts this workload. It holds what it holds; an empty key is nobody's."""
        mine = key not in self.away
        self.away.add(key)
        try:
            yield
        finally:
            if mine:
                self.away.discard(key)

    @contextmanager
    def without(self, reservations: Iterable[Reservation]) -> Iterator[None]:
        """Within the block, these workloads hold nothing. Blocks nest."""
        gone = [reservation for reservation in reservations if reservation.key not in self.away]
        with self.simulation():
            for reservation in gone:
                self.away.add(reservation.key)
                self.tree.remove(reservation.queue.node, reservation.usage)
                self.count_places(reservation.places, -1)
            try:
                yield
            finally:
                self.away.difference_update(reservation.key for reservation in gone)
