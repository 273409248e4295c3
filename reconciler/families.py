"""What is counted about Workloads, under Kueue's names, labels and buckets.

Each family that has a twin is also kept by LocalQueue: `kueue_local_queue_...`, with its name and namespace instead of
`cluster_queue`. Source: Kueue v0.19, pkg/metrics/metrics.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

WAITS = (1.0, *(2.5 * 2**step for step in range(13)))
"""Seconds: 1, 2.5, 5, 10 and so on, doubled up to 10 240."""
_ATTEMPT = Histogram.DEFAULT_BUCKETS
CLUSTER_QUEUE = "cluster_queue"
_LOCAL = ("name", "namespace")
ROLE = "replica_role"
_OF_CLASS = (CLUSTER_QUEUE, "priority_class")
_OF_EVICTION = (CLUSTER_QUEUE, "reason", "underlying_cause", "priority_class")


@dataclass(frozen=True, slots=True)
class Family:
    """One metric; a histogram where it has buckets. `replica_role` is the last label of each."""

    name: str
    text: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()
    twin: bool = False

    def local(self) -> Family:
        """The same by LocalQueue."""
        labels = tuple(each for label in self.labels for each in (_LOCAL if label == CLUSTER_QUEUE else (label,)))
        return Family(f"local_queue_{self.name}", f"{self.text[:-1]}, by LocalQueue.", labels, self.buckets)


RESERVED = Family("quota_reserved_workloads", "Workloads that got quota.", _OF_CLASS, twin=True)
ADMITTED = Family("admitted_workloads", "Workloads that were admitted.", _OF_CLASS, twin=True)
FINISHED = Family("finished_workloads", "Workloads that finished.", _OF_CLASS, twin=True)
RESERVED_WAIT = Family(
    "quota_reserved_wait_time_seconds", "From creation or requeuing to quota.", _OF_CLASS, WAITS, twin=True
)
ADMITTED_WAIT = Family(
    "admission_wait_time_seconds", "From creation or requeuing to admission.", _OF_CLASS, WAITS, twin=True
)
CHECKS_WAIT = Family("admission_checks_wait_time_seconds", "From quota to admission.", _OF_CLASS, WAITS, twin=True)
READY_WAIT = Family(
    "ready_wait_time_seconds", "From creation or requeuing to pods that are ready.", _OF_CLASS, WAITS, twin=True
)
ADMITTED_READY = Family(
    "admitted_until_ready_wait_time_seconds", "From admission to pods that are ready.", _OF_CLASS, WAITS, twin=True
)
EXECUTION = Family("execution_time_seconds", "How long a finished Workload was admitted in all.", _OF_CLASS, WAITS)
EVICTED = Family("evicted_workloads", "Evictions of Workloads.", _OF_EVICTION, twin=True)
EVICTED_ONCE = Family(
    "evicted_workloads_once", "Workloads that were evicted for a reason for the first time.", _OF_EVICTION
)
READY_EVICTED = Family(
    "pods_ready_to_evicted_time_seconds", "From pods that are ready to eviction.", _OF_EVICTION[:-1], WAITS
)
LATENCY = Family(
    "workload_eviction_latency_seconds", "From eviction to quota given back.", (CLUSTER_QUEUE, "reason"), WAITS
)
PREEMPTED = Family("preempted_workloads", "Evictions to make room.", ("preempting_cluster_queue", "reason"))
BELOW = Family("cohort_subtree_admitted_workloads", "Workloads that were admitted below.", ("cohort", "priority_class"))
ATTEMPTS = Family("admission_attempts", "Cycles; success where one of its workloads got quota.", ("result",))
ATTEMPT = Family("admission_attempt_duration_seconds", "Time that a cycle took.", ("result",), _ATTEMPT)
_ALL = (
    *(RESERVED, ADMITTED, FINISHED, RESERVED_WAIT, ADMITTED_WAIT, CHECKS_WAIT, READY_WAIT, ADMITTED_READY, EXECUTION),
    *(EVICTED, EVICTED_ONCE, READY_EVICTED, LATENCY, PREEMPTED, BELOW, ATTEMPTS, ATTEMPT),
)


class Families:
    """All of them in one registry; the samples of a queue that is gone go with it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        twins = [family.local() for family in _ALL if family.twin]
        self._made = {family.name: _made(family, registry) for family in (*_ALL, *twins)}
        self._by_queue = [family.name for family in _ALL if CLUSTER_QUEUE in family.labels]
        self._by_local = [family.name for family in twins]

    def add(self, family: Family, role: str, *labels: str, value: float = 1.0) -> None:
        """Count one, or observe a value where it is a histogram."""
        made = self._made[family.name].labels(*labels, role)
        if isinstance(made, Histogram):
            made.observe(value)
        else:
            made.inc(value)

    def add_both(
        self, family: Family, role: str, queue: str, local: tuple[str, str], *labels: str, value: float = 1.0
    ) -> None:
        """By ClusterQueue, and by LocalQueue: its name and namespace."""
        self.add(family, role, queue, *labels, value=value)
        self.add(family.local(), role, *local, *labels, value=value)

    def forget_queue(self, name: str) -> None:
        for family in self._by_queue:
            self._made[family].remove_by_labels({CLUSTER_QUEUE: name})
        self._made[PREEMPTED.name].remove_by_labels({"preempting_cluster_queue": name})

    def forget_local_queue(self, namespace: str, name: str) -> None:
        for family in self._by_local:
            self._made[family].remove_by_labels({"name": name, "namespace": namespace})

    def forget_cohort(self, name: str) -> None:
        self._made[BELOW.name].remove_by_labels({"cohort": name})


def _made(family: Family, registry: CollectorRegistry) -> Counter | Histogram:
    name, labels = f"kueue_{family.name}", (*family.labels, ROLE)
    if family.buckets:
        return Histogram(name, family.text, labels, buckets=family.buckets, registry=registry)
    return Counter(name, family.text, labels, registry=registry)
