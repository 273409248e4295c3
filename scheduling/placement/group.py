"""The input of a placement: a workload on the manager, its copies on the workers, and the workers' connections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import PREFIX
from scheduling.objects.workload import ADMITTED, EVICTED, CheckState, Condition, Workload
from scheduling.placement.settings import PlacementRules, PlacementSettings

ORIGIN_UID = f"{PREFIX}multikueue-origin-uid"
"""An annotation of a copy: the uid of the manager's workload."""
PLACED_ON = "quotree.dev/PlacedOn"
"""A condition of the manager's workload. True: a job may exist on the cluster in its message, so none may be created
elsewhere. False: clusters are nominated; the message has the round, which began at the transition. It is written
together with the rest of the status and survives an eviction."""
NOMINATED, PLACED = "Nominated", "Placed"


@dataclass(frozen=True, slots=True)
class OwnerJob:
    """The manager's job of the workload.

    `kind` is its group, version and kind, for messages. `adapted`: MultiKueue supports its kind. `has_managed_by`: the
    kind has the field spec.managedBy. `quiet`: its status shows no pods.
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
    """The job on a worker. `news`: its status has something that the manager's job lacks.

    `running`: it may have pods. `stopped`: it ran, and somebody on the worker has suspended it. `outdated`: the
    manager's job says something else by now that may change while it runs. The others are for groups of plain Pods,
    which are created one by one. `missing`: the worker lacks some Pods. `extra`: it has some that no longer exist on
    the manager. `broken`: some were deleted on the worker. `idle`: no Pod uses resources, or will before the workload
    is admitted.
    """

    news: bool = False
    running: bool = False
    stopped: bool = False
    deleting: bool = False
    missing: bool = False
    extra: bool = False
    broken: bool = False
    idle: bool = False
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue on a worker: whether it exists and is active, and if not, why."""

    name: str = ""
    exists: bool = True
    active: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WorkerCluster:
    """A worker cluster and what is known about the workload there.

    `configured`: the MultiKueueConfig names it. `eligible`: new work may go there. `lost_since`: when the connection
    was lost, in nanoseconds; 0 if unknown, and then it never expires. `back_since`: when it was made again; 0 if it is
    not connected, or that is not stored yet. `connecting`: its state is not known yet.
    `credentials`: why its kubeconfig cannot be used. `workload` and `job` have our origin label; for an unreachable
    worker they are the last known ones. `uncertain`: we tried to create a job and do not know whether it exists.
    `taken`: an object of that name exists that is not ours. `free`: the fraction of its quota that is free, None if
    unknown. `load`: how many workloads this manager has there that are not finished; `asked`: how many are not placed
    yet that it was the first to be asked for. `writing`: a write of its copy is in flight.
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
    taken: bool = False
    namespace: bool = True
    local_queue: QueueState = QueueState()
    cluster_queue: QueueState = QueueState()
    free: Fraction | None = None
    load: int = 0
    asked: int = 0
    writing: bool = False

    @property
    def admitted(self) -> Condition | None:
        """The condition Admitted of its copy; None if it is not admitted, or about to leave."""
        if self.workload is None or self.workload.evicted or self.workload.finished or not self.workload.active:
            return None
        return self.workload.holding(ADMITTED)

    @property
    def spent(self) -> bool:
        """Whether the job of its copy is gone. Such a copy cannot serve another job."""
        return self.workload is not None and bool(self.workload.owners) and self.job is None and not self.uncertain

    @property
    def holds(self) -> bool:
        """Whether anything of ours is there."""
        return self.workload is not None or self.job is not None


@dataclass(frozen=True, slots=True)
class Group:
    """`local` None: the workload is gone. `check` is the state of its MultiKueue check, None if it has none.

    `job` None: it has no job, or none that is known. `owned`: it has an owner reference. `workers` are those of the
    MultiKueueConfig in its order, then others that hold something of it. `configured`: the config exists.
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
        """When the worker counts as lost for good; 0 if unknown."""
        return worker.lost_since + self.settings.worker_lost if worker.lost_since else 0

    def expired(self, worker: WorkerCluster) -> bool:
        """Whether it was unreachable for so long that what ran there is given up."""
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
        """The deadline for a cluster that is no longer known, counted from the eviction, when it was still known."""
        evicted = local.conditions.get(EVICTED)
        return evicted.since + self.settings.worker_lost if evicted is not None else 0


def placed_on(workload: Workload) -> str:
    """The cluster where a job for it may exist; empty if there is none."""
    found = workload.holding(PLACED_ON)
    return found.message if found is not None else ""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of nominations; `since` in nanoseconds."""

    number: int
    since: int


def round_of(workload: Workload) -> Round | None:
    found = workload.conditions.get(PLACED_ON)
    if found is None or found.status != "False":
        return None
    digits = found.message.removeprefix("round ")
    return Round(int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 9 else 1, found.since)
