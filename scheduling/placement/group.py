"""The input of a placement: a workload on the manager, its copies on the workers, and the workers' connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import PREFIX
from scheduling.objects.workload import ADMITTED, EVICTED, CheckState, Condition, Workload
from scheduling.placement.settings import PlacementRules, PlacementSettings

ORIGIN_UID = f"{PREFIX}multikueue-origin-uid"
"""An annotation of a copy: the uid of the manager's workload."""
PLACED_ON = "quotree.dev/PlacedOn"
"""A condition of the manager's workload. True: a job may exist on the cluster in the message, so none may be created on
other clusters. False: clusters are nominated, and the message has the round, which began at the transition. The
condition is written together with the rest of the status and survives an eviction."""
NOMINATED, PLACED = "Nominated", "Placed"


@dataclass(frozen=True, slots=True)
class OwnerJob:
    """The manager's job of the workload.

    kind: its group, version and kind, for messages.
    adapted: MultiKueue supports its kind.
    has_managed_by: the kind has the field spec.managedBy.
    quiet: its status has no pods.
    """

    kind: str
    adapted: bool = True
    has_managed_by: bool = True
    managed_by: str = ""
    suspended: bool = True
    quiet: bool = True

    @property
    def managed(self) -> bool:
        """Whether no controller runs it on the manager."""
        return not self.has_managed_by or self.managed_by == MULTIKUEUE


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """The job on a worker.

    news: its status differs from that of the manager's job.
    running: it may have pods.
    unfinished: the worker has not reported its end.
    stopped: it ran, and a client on the worker has suspended it.
    missing: of a group of Pods, the worker lacks some.
    extra: of a group of Pods, the worker has some that no longer exist on the manager.
    broken: of a group of Pods, some were deleted on the worker.
    idle: of a group of Pods, none uses resources, or will before the workload is admitted.
    outdated: a field that may change while it runs differs from that of the manager's job.
    foreign: it is not a copy of the manager's job, although it has the marks of one.
    """

    news: bool = False
    running: bool = False
    unfinished: bool = False
    stopped: bool = False
    deleting: bool = False
    missing: bool = False
    extra: bool = False
    broken: bool = False
    idle: bool = False
    outdated: bool = False
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue on a worker. `reason`: why it is not active."""

    name: str = ""
    exists: bool = True
    active: bool = True
    reason: str = ""


class PlacementRefusal(NamedTuple):
    """Why a worker does not admit a workload.

    `reason`: for programs. `message`: a part of a sentence. `passing`: it will change soon. `retried`: the same write
    may succeed, so it is sent again.
    """

    reason: str
    message: str
    passing: bool = False
    retried: bool = False


@dataclass(frozen=True, slots=True)
class WorkerCluster:
    """A worker cluster and what is known about the workload there.

    configured: the MultiKueueConfig names it.
    eligible: new work may go to it.
    lost_since: when the connection was lost, in nanoseconds; 0 if unknown. Then it never expires.
    back_since: when the connection was restored; 0 if it is not connected, or if the moment is not stored yet.
    connecting: its state is not known yet.
    credentials: why its kubeconfig cannot be used; empty if it can.
    workload, job: the copy and its job, with our origin label. For an unreachable worker, the last known ones.
    uncertain: a job was created, but it is not known whether that succeeded.
    rejection: why the worker does not accept the copy or the job; None if it does.
    failure: why the copy could not be created yet, although the worker did not reject it; None if it was not tried.
    namespace: the namespace of the workload exists.
    free: the fraction of its quota that is free; None if unknown.
    load: the number of unfinished workloads of this manager on it.
    asked: the number of workloads that are not placed yet and whose first copy it got.
    writing: a write of the copy is in flight.
    """

    name: str
    reachable: bool = True
    configured: bool = True
    eligible: bool = True
    lost_since: int = 0
    back_since: int = 0
    connecting: bool = False
    credentials: str = ""
    workload: Workload | None = None
    job: RemoteJob | None = None
    uncertain: bool = False
    rejection: PlacementRefusal | None = None
    failure: PlacementRefusal | None = None
    namespace: bool = True
    local_queue: QueueState = QueueState()
    cluster_queue: QueueState = QueueState()
    free: Fraction | None = None
    load: int = 0
    asked: int = 0
    writing: bool = False

    @property
    def admitted(self) -> Condition | None:
        """The condition Admitted of the copy; None if the copy is not admitted, or is being evicted."""
        if self.workload is None or self.workload.evicted or self.workload.finished or not self.workload.active:
            return None
        return self.workload.holding(ADMITTED)

    @property
    def spent(self) -> bool:
        """Whether the job of the copy no longer exists. Such a copy cannot be used for another job."""
        return self.workload is not None and bool(self.workload.owners) and self.job is None and not self.uncertain

    @property
    def holds(self) -> bool:
        return self.workload is not None or self.job is not None


@dataclass(frozen=True, slots=True)
class Group:
    """A workload of the manager with its copies.

    local: the workload; None if it was deleted.
    check: the state of its MultiKueue check; None if it has none.
    job: its job; None if it has none, or none that is known.
    workers: those of the MultiKueueConfig in its order, then others with a copy or a job.
    owned: the workload has an owner reference.
    configured: the MultiKueueConfig exists.
    """

    local: Workload | None
    check: CheckState | None
    job: OwnerJob | None
    workers: tuple[WorkerCluster, ...]
    now: int
    settings: PlacementSettings = field(default_factory=PlacementSettings)
    rules: PlacementRules = field(default_factory=PlacementRules)
    owned: bool = True
    configured: bool = True

    def worker(self, name: str) -> WorkerCluster | None:
        return next((worker for worker in self.workers if worker.name == name), None)

    def reachable(self) -> Iterator[WorkerCluster]:
        return (worker for worker in self.workers if worker.reachable)

    @property
    def elastic(self) -> bool:
        return self.settings.elastic and self.local is not None and self.local.elastic

    def expiry(self, worker: WorkerCluster) -> int:
        """When the unreachable worker is given up; 0 if unknown."""
        return worker.lost_since + self.settings.worker_lost if worker.lost_since else 0

    def expired(self, worker: WorkerCluster) -> bool:
        """Whether the worker was unreachable for so long that its job is given up."""
        expiry = self.expiry(worker)
        return not worker.reachable and 0 < expiry <= self.now

    def barrier(self, local: Workload, but: str = "") -> int | None:
        """Until when no job may be created except on `but`, because an unreachable cluster may have one.

        None if there is no such cluster; 0 if the end is unknown.
        """
        holder = placed_on(local)
        moments: list[int] = []
        for worker in self.workers:
            may_have = worker.name == holder or worker.job is not None or worker.uncertain
            if worker.name != but and not worker.reachable and may_have and not self.expired(worker):
                moments.append(self.expiry(worker))
        if holder and holder != but and self.worker(holder) is None:
            gone = self._gone_until(local)
            moments += [gone] if gone > self.now else []
        return None if not moments else 0 if 0 in moments else max(moments)

    def _gone_until(self, local: Workload) -> int:
        """When a job on a cluster that is no longer known is given up. The time counts from the eviction."""
        evicted = local.conditions.get(EVICTED)
        return evicted.since + self.settings.worker_lost if evicted is not None else 0


def placed_on(workload: Workload) -> str:
    """The cluster where a job for it may exist; empty if there is none."""
    found = workload.holding(PLACED_ON)
    return found.message if found is not None else ""


@dataclass(frozen=True, slots=True)
class Round:
    """A round of nominations. `since`: when it began, in nanoseconds."""

    number: int
    since: int


def round_of(workload: Workload) -> Round | None:
    found = workload.conditions.get(PLACED_ON)
    if found is None or found.status != "False":
        return None
    digits = found.message.removeprefix("round ")
    return Round(int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 9 else 1, found.since)
