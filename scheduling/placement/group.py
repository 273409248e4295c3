"""What one placement is decided on: a workload here, its copies on the workers, and how these can be reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from policies.dialects.kueue_checks import MULTIKUEUE
from policies.dialects.kueue_kinds import PREFIX
from scheduling.objects.workload import ADMITTED, EVICTED, CheckState, Condition, Workload
from scheduling.placement.settings import Placing, Rules

ORIGIN_UID = f"{PREFIX}multikueue-origin-uid"
"""An annotation of a copy: the uid of the workload that it was made of."""
PLACED_ON = "quotree.dev/PlacedOn"
"""A condition of a workload here. True: a job for it may be on the cluster that its message names, so that none may be
made elsewhere. False: clusters are nominated, in the round of its message since its transition. It is written together
with the rest of the status, and an eviction leaves it."""
NOMINATED, PLACED = "Nominated", "Placed"


@dataclass(frozen=True, slots=True)
class OwnerJob:
    """The job that the workload stands for, as it is on this cluster.

    `kind` is its group, version and kind for people. `adapted`: jobs of its kind can be taken to other clusters.
    `has_managed_by`: the kind has the field spec.managedBy. `quiet`: its status tells of no pods.
    """

    kind: str
    adapted: bool = True
    has_managed_by: bool = True
    managed_by: str = ""
    suspended: bool = True
    quiet: bool = True

    @property
    def managed(self) -> bool:
        """Whether nobody runs it on this cluster."""
        return not self.has_managed_by or self.managed_by == MULTIKUEUE


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """The job on a worker. `news`: its status says something that the job here does not say and may be told.

    `running`: it may have pods. Of Pods by themselves, which are made one by one: `missing` are some that are here,
    `extra` are some that are not here any more, of a `broken` group some were deleted there, and of an `idle` one none
    takes room, or may before its workload is admitted.
    """

    news: bool = False
    running: bool = False
    deleting: bool = False
    missing: bool = False
    extra: bool = False
    broken: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue on a worker: whether it is there and admits, else why not."""

    name: str = ""
    there: bool = True
    active: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker cluster and what is known of the workload there.

    `configured`: the MultiKueueConfig names it; `eligible`: new work may go there. `lost_since` (nanoseconds): when the
    connection ended, 0 where that is not known, so that no time is up. `connecting`: nobody knows yet. `credentials`:
    why it cannot be used, where that is not the network's fault. `workload` and `job` are ours by the origin label;
    while it is not reachable they are as they were last. `uncertain`: a job was asked for, and nobody knows whether it
    is there. `taken`: an object of its name that is not ours is in the way. `free`: the share of its quota that is
    free, None where nobody knows.
    """

    name: str
    reachable: bool = True
    configured: bool = True
    eligible: bool = True
    lost_since: int = 0
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

    @property
    def admitted(self) -> Condition | None:
        """Since when its copy is admitted there; None where it is not, or is about to leave."""
        if self.workload is None or self.workload.evicted or self.workload.finished or not self.workload.active:
            return None
        return self.workload.holding(ADMITTED)

    @property
    def spent(self) -> bool:
        """Whether its copy belonged to a job that is gone: it cannot be that of another."""
        return self.workload is not None and bool(self.workload.owners) and self.job is None and not self.uncertain

    @property
    def holds(self) -> bool:
        """Whether anything of ours is there."""
        return self.workload is not None or self.job is not None


@dataclass(frozen=True, slots=True)
class Group:
    """`local` None: the workload is gone. `check` is the state of its check of MultiKueue, None where it has none.

    `job` None: it stands for no job, or for none that is known. `owned`: it says that it belongs to one.
    `workers` are those of the MultiKueueConfig in its order, then others that hold something of it. `configured`: there
    is such a config.
    """

    local: Workload | None
    check: CheckState | None
    job: OwnerJob | None
    workers: tuple[Worker, ...]
    now: int
    placing: Placing = field(default_factory=Placing)
    rules: Rules = field(default_factory=Rules)
    owned: bool = True
    configured: bool = True

    def worker(self, name: str) -> Worker | None:
        return next((worker for worker in self.workers if worker.name == name), None)

    def reachable(self) -> Iterator[Worker]:
        return (worker for worker in self.workers if worker.reachable)

    @property
    def elastic(self) -> bool:
        return self.placing.elastic and self.local is not None and self.local.elastic

    def expiry(self, worker: Worker) -> int:
        """When it counts as lost for good; 0 where that is not known."""
        return worker.lost_since + self.placing.worker_lost if worker.lost_since else 0

    def expired(self, worker: Worker) -> bool:
        """Whether it has been out of reach for so long that what ran there is given up."""
        expiry = self.expiry(worker)
        return not worker.reachable and 0 < expiry <= self.now

    def barrier(self, local: Workload, but: str = "") -> int | None:
        """Until when no job may be made elsewhere than on `but`: a cluster out of reach may have one.

        None where nothing is in the way; 0 where nobody knows for how long.
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
        """Its cluster is known no more, and nobody knows since when: at the latest since it was sent away."""
        evicted = local.conditions.get(EVICTED)
        return evicted.since + self.placing.worker_lost if evicted is not None else 0


def placed_on(workload: Workload) -> str:
    """The cluster on which a job for it may be; empty where there is none."""
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
