"""The occasions that a source can read, in addition to the World, the counts of Workloads, gatekeepers and queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from policies.configuration.settings import Dialect
from reconciler.observer.differences import ComparisonResult, DecisionDifference
from reconciler.process import Reconciler
from scheduling.objects.workload import Condition, Workload
from scheduling.world.decisions import Decision


@dataclass(frozen=True, slots=True)
class WorkloadChange:
    """A stored Workload has changed while this replica writes.

    `before`, `after`: the Workload.
    `cohorts_above`: returns the Cohorts above a ClusterQueue.
    `now`: nanoseconds.
    """

    before: Workload
    after: Workload
    cohorts_above: Callable[[str], list[str]]
    now: int

    def new(self, kind: str) -> Condition | None:
        """The condition, if it is true now and was not before the change."""
        return self.after.holding(kind) if not self.before.holds(kind) else None

    @property
    def queue(self) -> str:
        """The ClusterQueue in which the Workload has quota, or had it before the change."""
        admission = self.after.admission or self.before.admission
        return admission.cluster_queue if admission is not None else ""

    @property
    def local(self) -> tuple[str, str]:
        return self.after.queue, self.after.namespace

    @property
    def priority_class(self) -> str:
        return self.after.priority_class.name if self.after.priority_class is not None else ""


class WorkloadCreated(NamedTuple):
    """A Workload was created `seconds` after its job. The job has not been changed since then."""

    job_kind: str
    seconds: float


class GateRemoved(NamedTuple):
    """A Pod's gate was removed `seconds` after its Workload was admitted.

    `gate`: the name of the gate.
    `queue`: the ClusterQueue.
    `in_group`: whether the Pod belongs to a group.
    """

    gate: str
    queue: str
    in_group: bool
    seconds: float


class CycleDecided(NamedTuple):
    """A scheduling cycle made these decisions."""

    decisions: Sequence[Decision]
    seconds: float


class RoundPassed(NamedTuple):
    """A round of the loop is over. `seconds`: its duration without waiting."""

    seconds: float


class Compared(NamedTuple):
    """With `--mode observe`: a decision of the other controller was compared with ours."""

    result: ComparisonResult
    difference: DecisionDifference | None


class QueueStateCompared(NamedTuple):
    """With `--mode observe`: Volcano's controller wrote the state `theirs`; ours would have written `ours`."""

    theirs: str
    ours: str


class PodCompared(NamedTuple):
    """With `--mode observe`: another scheduler's decision about a Pod or PodGroup was compared with the quota."""

    dialect: str
    result: ComparisonResult
    difference: DecisionDifference | None


class PodPassed(NamedTuple):
    """A Pod passed the gate of this dialect."""

    dialect: Dialect
    namespace: str


class GateCounts(Protocol):
    """The Pods at the gates of one dialect."""

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """The number of waiting Pods, by Namespace and reason."""


class QuotaGates(NamedTuple):
    """At a scrape: the Pods at the gates of this process, by dialect."""

    counts: Mapping[Dialect, GateCounts]


class ProcessScrape(NamedTuple):
    """At a scrape: the process itself. `writes`: whether it may write."""

    reconciler: Reconciler
    writes: bool


class WorkerScrape(NamedTuple):
    """At a scrape: the worker clusters of MultiKueue, as /v1/clusters lists them."""

    items: Sequence[Mapping[str, Any]]


class Dispatches(NamedTuple):
    """At a scrape: the workers of ClusterQueues.

    `counts`: the number of Workloads that this process created on a worker, by ClusterQueue and worker.
    `evictions`: the number of evictions on a worker, by ClusterQueue, worker and reason.
    `statuses`: the status of the worker's condition Active (True, False or Unknown), by ClusterQueue and worker.
    """

    counts: Mapping[tuple[str, str], int]
    evictions: Mapping[tuple[str, str, str], int]
    statuses: Mapping[tuple[str, str], str]


class Certificate(NamedTuple):
    """At a scrape: the expiry of the certificate of /v1, in Unix seconds."""

    expires: float


class BuildInfo(NamedTuple):
    """The version of Quotree and of Python."""

    version: str
    python: str
    implementation: str
    machine: str
