"""The occasions that a source can read, beside the World of the loop and the counts of Workloads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from policies.configuration.settings import Dialect
from reconciler.observer.comparison import ComparisonResult, DecisionDifference
from reconciler.process import Reconciler
from scheduling.objects.workload import Condition, Workload
from scheduling.world.decisions import Decision

if TYPE_CHECKING:  # these take long to load, and most processes have none
    from scheduling.volcano.gates.gatekeeper import VolcanoGatekeeper as VolcanoGatekeeper
    from scheduling.volcano_queues.tree import VolcanoQueueTree
    from scheduling.yunikorn.gates.gatekeeper import YuniKornGatekeeper as YuniKornGatekeeper


@dataclass(frozen=True, slots=True)
class WorkloadChange:
    """A stored Workload changed while this replica writes.

    `cohorts_above`: the Cohorts above a ClusterQueue.
    `now`: the moment in nanoseconds.
    """

    before: Workload
    after: Workload
    cohorts_above: Callable[[str], list[str]]
    now: int

    def new(self, kind: str) -> Condition | None:
        """The condition if it is true and was not before the change."""
        return self.after.holding(kind) if not self.before.holds(kind) else None

    @property
    def queue(self) -> str:
        """The ClusterQueue in which the Workload holds quota, or held it before the change."""
        admission = self.after.admission or self.before.admission
        return admission.cluster_queue if admission is not None else ""

    @property
    def local(self) -> tuple[str, str]:
        """The name and namespace of the Workload's LocalQueue."""
        return self.after.queue, self.after.namespace

    @property
    def priority_class(self) -> str:
        return self.after.priority_class.name if self.after.priority_class is not None else ""


class WorkloadCreated(NamedTuple):
    """A Workload was created `seconds` after its job, which has not been changed since."""

    job_kind: str
    seconds: float


class GateRemoved(NamedTuple):
    """A Pod's gate was removed `seconds` after its Workload was admitted. `queue` is the ClusterQueue."""

    gate: str
    queue: str
    in_group: bool
    seconds: float


class CycleDecided(NamedTuple):
    """A scheduling cycle made these decisions."""

    decisions: Sequence[Decision]
    seconds: float


class RoundPassed(NamedTuple):
    """A round of the loop is over; `seconds`: its duration without waiting."""

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
    """With `--mode observe`: a decision of another scheduler about a Pod or PodGroup was compared with the quota."""

    dialect: str
    result: ComparisonResult
    difference: DecisionDifference | None


class PodPassed(NamedTuple):
    """A Pod passed the gate of the dialect's quota."""

    dialect: Dialect
    namespace: str


class GateCounts(Protocol):
    """The Pods at the gates of one dialect."""

    def waiting(self) -> Iterator[tuple[str, str, int]]:
        """The number of waiting Pods, by Namespace and reason."""


class QuotaGates(NamedTuple):
    """At a scrape: the Pods at the gates that this process keeps, by dialect."""

    counts: Mapping[Dialect, GateCounts]


class YuniKornGates(NamedTuple):
    """At a scrape: the Pods at the gates of YuniKorn's quota, and the queues with their usage."""

    keeper: YuniKornGatekeeper


class VolcanoGates(NamedTuple):
    """At a scrape: the usage of Volcano's queues, including Pods without a node."""

    keeper: VolcanoGatekeeper


class VolcanoQueues(NamedTuple):
    """At a scrape: Volcano's queues with their contents."""

    tree: VolcanoQueueTree


class ProcessScrape(NamedTuple):
    """At a scrape: the process itself. `writes`: whether it may write."""

    reconciler: Reconciler
    writes: bool


class WorkerScrape(NamedTuple):
    """At a scrape: the worker clusters of MultiKueue, as /v1/clusters lists them."""

    items: Sequence[Mapping[str, Any]]


class Dispatches(NamedTuple):
    """At a scrape: the workers of each ClusterQueue.

    `counts`: the number of Workloads that this process created there, by ClusterQueue and worker.
    `evictions`: the number of evictions there, by ClusterQueue, worker and reason.
    `statuses`: True, False or Unknown, as the worker's condition Active has it, by ClusterQueue and worker.
    """

    counts: Mapping[tuple[str, str], int]
    evictions: Mapping[tuple[str, str, str], int]
    statuses: Mapping[tuple[str, str], str]


class Certificate(NamedTuple):
    """At a scrape: the certificate of /v1 with its expiry, in Unix seconds."""

    expires: float


class BuildInfo(NamedTuple):
    """The version that runs here."""

    version: str
    python: str
    implementation: str
    machine: str
