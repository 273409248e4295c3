"""What the engine decides on: the quota tree, the flavors, and the workloads that hold quota.

Mutable, inside the engine alone. Decisions try things out in `simulation` and leave no trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scheduling.objects.amounts import Usage
from scheduling.objects.queue_settings import CohortSettings, QueueSettings
from scheduling.objects.resource_flavor import Flavor
from scheduling.objects.workload import Workload
from scheduling.quota.held import Held
from scheduling.quota.touched import Touched
from scheduling.quota.tree import QuotaNode, QuotaTree

LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class Options:
    """How the engine decides, whatever the objects say; Kueue's Configuration has the same under the same names.

    `fair_sharing`: shares of the tree decide instead of borrowing levels. `ignore_undeclared`: a resource that the
    ClusterQueue does not cover needs no quota (quotaCheckStrategy IgnoreUndeclared). `partial_admission`,
    `recompute_on_overlap`: Kueue's gates PartialAdmission and RecomputeAssignmentUponPreemptionTargetsOverlap.
    `preemptors_first`: its gate PrioritizePreemptorWorkloads, off there; without it two workloads may take turns in
    preempting each other for ever (docs/adr/2026-11-21-preemptors-first.md).
    `nominal_first`: own quota comes back without comparing shares (the gate FairSharingPreemptWithinNominal).
    `compat`: do as Kueue does also where it is known to be wrong (docs/adr).
    """

    fair_sharing: bool = False
    strategies: tuple[str, ...] = (LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, LESS_THAN_INITIAL_SHARE)
    ignore_undeclared: bool = False
    partial_admission: bool = True
    recompute_on_overlap: bool = True
    preemptors_first: bool = True
    nominal_first: bool = True
    compat: bool = False


@dataclass(slots=True, eq=False)
class Reservation:
    """A workload that holds quota in a ClusterQueue: QuotaReserved, not finished, active.

    `usage` is counted by pair. It is identified by its workload's key, `namespace/name`.
    """

    workload: Workload
    queue: Queue
    usage: Usage

    @property
    def key(self) -> str:
        return self.workload.key

    @property
    def local_queue(self) -> str:
        """`namespace/name`."""
        return f"{self.workload.namespace}/{self.workload.queue}"


@dataclass(slots=True, eq=False)
class Queue:
    """A ClusterQueue with its place in the tree. `generation`: see `State.generation`.

    `inactive` says why it admits nothing, empty where it does. It goes on lending, and nobody is preempted in it.
    `by_priority` are the same reservations: most searches for victims end at the priorities that there are.
    `held` and `held_by` are their sums, in all and by LocalQueue (`namespace/name`).
    """

    settings: QueueSettings
    node: QuotaNode
    reservations: dict[str, Reservation] = field(default_factory=dict)
    by_priority: dict[int, dict[str, Reservation]] = field(default_factory=dict)
    held: Held = field(default_factory=Held)
    held_by: dict[str, Held] = field(default_factory=dict)
    inactive: str = ""
    generation: int = 0

    @property
    def name(self) -> str:
        return self.settings.name

    def hold(self, reservation: Reservation) -> None:
        self.reservations[reservation.key] = reservation
        self.by_priority.setdefault(reservation.workload.priority, {})[reservation.key] = reservation
        self._count(reservation, 1)

    def let_go(self, reservation: Reservation) -> None:
        """Raises KeyError where it is not held."""
        del self.reservations[reservation.key]
        alike = self.by_priority[reservation.workload.priority]
        del alike[reservation.key]
        if not alike:
            del self.by_priority[reservation.workload.priority]
        self._count(reservation, -1)

    def _count(self, reservation: Reservation, sign: int) -> None:
        workload, local = reservation.workload, reservation.local_queue
        mine = self.held_by.get(local) or self.held_by.setdefault(local, Held())
        for held in (self.held, mine):
            held.add(reservation.usage, workload.admitted, sign)
        if not mine.reserving:
            del self.held_by[local]


class State:
    """Everything that holds or has quota."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.tree = QuotaTree()
        self.queues: dict[str, Queue] = {}
        self.flavors: dict[str, Flavor] = {}
        self.reservations: dict[str, Reservation] = {}
        self.touched = Touched()
        self.away: set[str] = set()
        self._changes = 0
        self._changed_trees: dict[QuotaNode, int] = {}

    def put_queue(self, settings: QueueSettings) -> Queue:
        """Add a ClusterQueue or change it; the workloads that hold quota in it stay."""
        self.tree.put_queue(settings.name, settings.cohort, settings.terms, settings.weight)
        queue = self.queues.get(settings.name)
        if queue is None:
            queue = self.queues[settings.name] = Queue(settings, self.tree.queues[settings.name])
        queue.settings = settings
        self.touch(queue)
        return queue

    def put_cohort(self, settings: CohortSettings) -> None:
        self.tree.put_cohort(settings.name, settings.parent, settings.terms, settings.weight)

    def drop_queue(self, name: str) -> None:
        """Raises KeyError where there is none. The reservations in it are forgotten."""
        for key in self.queues.pop(name).reservations:
            del self.reservations[key]
        self.tree.drop_queue(name)

    def touch(self, queue: Queue) -> None:
        """What was found out about the ClusterQueue may not hold any more."""
        self._changes += 1
        queue.generation = self._changes

    def touch_tree(self, root: QuotaNode) -> None:
        """What was found out about any ClusterQueue of the tree may not hold any more."""
        self._changes += 1
        self._changed_trees[root] = self._changes

    def generation(self, queue: Queue) -> int:
        """Grows when the ClusterQueue or its tree is touched."""
        return max(queue.generation, self._changed_trees.get(queue.node.root, 0))

    def reserve(self, reservation: Reservation) -> None:
        """Count a workload's usage; in place of what it held before."""
        self.release(reservation.key)
        self.reservations[reservation.key] = reservation
        reservation.queue.hold(reservation)
        self.touched.usage(reservation.queue.name, reservation.local_queue)
        self.tree.add(reservation.queue.node, reservation.usage)

    def release(self, key: str) -> Reservation | None:
        """What the workload held, which is free now; None where it held nothing."""
        reservation = self.reservations.pop(key, None)
        if reservation is not None:
            reservation.queue.let_go(reservation)
            self.touched.usage(reservation.queue.name, reservation.local_queue)
            self.tree.remove(reservation.queue.node, reservation.usage)
        return reservation

    @contextmanager
    def without(self, reservations: Iterable[Reservation]) -> Iterator[None]:
        """As if these workloads held nothing, until the end of the block. Blocks nest."""
        gone = [reservation for reservation in reservations if reservation.key not in self.away]
        with self.tree.simulation():
            for reservation in gone:
                self.away.add(reservation.key)
                self.tree.remove(reservation.queue.node, reservation.usage)
            try:
                yield
            finally:
                self.away.difference_update(reservation.key for reservation in gone)
