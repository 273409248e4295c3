"""The state that decisions read: the quota tree, the flavors, and the workloads with quota.

Only the engine changes it. Decisions try changes in a `simulation`, which undoes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from policies.dialects.kueue_flavor import Flavor
from scheduling.objects.amounts import FlavorResource, Usage, add_to
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings
from scheduling.objects.workload import Workload
from scheduling.quota.touched import Touched
from scheduling.quota.tree import QuotaNode, QuotaTree
from scheduling.topology.fleet import Fleet, HeldPlaces

LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the engine, from Kueue's Configuration and feature gates.

    fair_sharing: shares decide, instead of borrowing levels.
    strategies: the preemption strategies of fair sharing, in the order in which they are tried.
    ignore_undeclared: resources that the ClusterQueue does not cover need no quota (quotaCheckStrategy
        IgnoreUndeclared).
    partial_admission: the gate PartialAdmission.
    recompute_on_overlap: the gate RecomputeAssignmentUponPreemptionTargetsOverlap.
    preemptors_first: the gate PrioritizePreemptorWorkloads. Without this gate and the one before it, workloads may
        preempt each other indefinitely (docs/adr/2026-11-22-gates-of-preemption-as-in-kueue.md).
    nominal_first: a request within nominal quota reclaims without comparing shares (the gate
        FairSharingPreemptWithinNominal).
    admission_gates: a workload with the annotation admission-gated-by is in no queue (the gate AdmissionGatedBy).
    elastic: a slice of an elastic job takes over the quota of the slice that it replaces (the gate
        ElasticJobsViaWorkloadSlices).
    compat: behave as Kueue even where Quotree deviates on purpose (docs/adr).
    gated_preemption: a closed preemption gate keeps a workload from preempting (the gate
        MultiKueueOrchestratedPreemption).
    orchestrated: status.effectiveQuotas replaces the quotas of spec (the gate DynamicQuotaOrchestration).
    recompute_places: a head that lost its places to another one looks for others in the same cycle (the gate
        TASRecomputeAssignmentWithinSchedulingCycle).
    topologies: a flavor with a topology only takes workloads that have places in it. If it is off, topologies are
        ignored (the gate TopologyAwareScheduling).
    encode_by_prefix: see `written_topology_assignment` (the gate TASAssignmentsEncodingByHostnamePrefix).
    fail_fast: a workload is evicted if there are no places for the pods of a failed node (the gate
        TASFailedNodeReplacementFailFast).
    replace_together: the pods of all unhealthy nodes of a workload get new places at once, outside of these nodes (the
        gate TASReplaceMultipleFailedNodes).
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
class UsageSum:
    """Running sums over the workloads of a ClusterQueue or a LocalQueue. Pairs with a sum of 0 may be absent.

    reserving, reserved: the number and the usage of all workloads with quota.
    admitted, used: the number and the usage of the admitted ones.
    """

    reserving: int = 0
    admitted: int = 0
    reserved: dict[FlavorResource, int] = field(default_factory=dict)
    used: dict[FlavorResource, int] = field(default_factory=dict)

    def add(self, usage: Usage, admitted: bool, sign: int = 1) -> None:
        """Add a workload; with `sign` -1, remove one that was added with the same usage."""
        self.reserving += sign
        add_to(self.reserved, usage, sign)
        if admitted:
            self.admitted += sign
            add_to(self.used, usage, sign)


@dataclass(slots=True, eq=False)
class Reservation:
    """A workload with quota in a ClusterQueue: QuotaReserved, active and not finished.

    usage: by pair.
    places: its places in topologies.
    order: its sort key among candidates for preemption, cached by `scheduling.preemption.candidates.order_key`; None
        before the first search.
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
        """Whether both, of the same workload, count the same in all sums."""
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

    by_priority: the reservations by priority. Most searches for victims end after few priorities.
    in_turn: the reservations by priority, in the order of preemption, cached by `scheduling.preemption.candidates`. A
        priority is missing until a search needs it, and after one of its reservations has changed.
    usage, usage_by_local_queue: the sums of the reservations, in total and by LocalQueue (`namespace/name`).
    inactive: why it admits nothing; empty if it is active. An inactive queue still lends, and none of its workloads are
        preempted.
    generation: see `QuotaState.generation`.
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
        """Replace a reservation by one with the same usage."""
        self.reservations[reservation.key] = reservation
        self.by_priority[reservation.workload.priority][reservation.key] = reservation
        self.in_turn.pop(reservation.workload.priority, None)

    def let_go(self, reservation: Reservation) -> None:
        """Remove the reservation and its usage. Raises KeyError if the queue does not have it."""
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
    """Everything that has or uses quota.

    fleet: the nodes with their topologies; None if no places are assigned.
    away: the workloads that the current simulation leaves out.
    edits: the number of changes of quota, edges and flavors.
    deleted_cohorts: deleted Cohorts that others still name as their parent, until something below them changes.
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
        """Add or update a ClusterQueue. Its reservations stay."""
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
        """Remove a ClusterQueue with its reservations. Raises KeyError if it does not exist."""
        self.edits += 1
        for key in self.queues.pop(name).reservations:
            self.count_places(self.reservations.pop(key).places, -1)
        self._changed_below(self.tree.queues[name])
        self.tree.drop_queue(name)

    def touch(self, queue: ClusterQueueState) -> None:
        """Note that earlier searches for flavors in the ClusterQueue may be outdated."""
        self._changes += 1
        queue.generation = self._changes

    def touch_tree(self, root: QuotaNode) -> None:
        """Note that earlier searches for flavors in all ClusterQueues of the tree may be outdated."""
        self._changes += 1
        self._changed_trees[root] = self._changes

    def generation(self, queue: ClusterQueueState) -> int:
        """A number that grows when the ClusterQueue or its tree is touched."""
        return max(queue.generation, self._changed_trees.get(queue.node.root, 0))

    def reserve(self, reservation: Reservation) -> None:
        """Count a workload's usage, instead of its former usage. Most updates of a workload do not change it."""
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
        """Remove and return the reservation of the workload; None if it has none."""
        reservation = self.reservations.pop(key, None)
        if reservation is not None:
            reservation.queue.let_go(reservation)
            self.touched.usage(reservation.queue.name, reservation.local_queue)
            self.tree.remove(reservation.queue.node, reservation.usage)
            self._changed_below(reservation.queue.node)
            self.count_places(reservation.places, -1)
        return reservation

    def count_places(self, places: Iterable[HeldPlaces], times: int = 1) -> None:
        """Count these places in the topologies; with `times` -1, release them."""
        if self.fleet is not None:
            self.fleet.count(places, times)

    @contextmanager
    def simulation(self) -> Iterator[None]:
        """A context at whose end all counted usage is undone, in the tree and in the topologies. Contexts nest."""
        with self.tree.simulation(), self.fleet.simulation() if self.fleet is not None else nullcontext():
            yield

    @contextmanager
    def spared(self, key: str) -> Iterator[None]:
        """A context in which the workload cannot be preempted. An empty key has no effect."""
        mine = key not in self.away
        self.away.add(key)
        try:
            yield
        finally:
            if mine:
                self.away.discard(key)

    @contextmanager
    def without(self, reservations: Iterable[Reservation]) -> Iterator[None]:
        """A context in which these workloads do not count. Contexts nest."""
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
