"""What is watched on worker clusters. A worker is named by its MultiKueueCluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cluster.resource import NAMESPACES
from reconciler.multikueue.remote_objects import (
    read_remote_cluster_queue,
    read_remote_local_queue,
    read_remote_namespace,
)
from reconciler.objects.watched import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WatchedKind, by_kind
from scheduling.objects.queue_settings import read_cohort_settings
from scheduling.objects.workload import ORIGIN


@dataclass(frozen=True, slots=True)
class RemoteKinds:
    """The kinds that are followed on each worker: `ours` by the origin label, `queues` all of them."""

    ours: tuple[WatchedKind, ...]
    queues: tuple[WatchedKind, ...] = field(default=())

    @property
    def kinds(self) -> tuple[WatchedKind, ...]:
        return (*self.queues, *self.ours)


def remote_kinds(origin: str, jobs: Iterable[WatchedKind]) -> RemoteKinds:
    """What to watch on a worker: Workloads and jobs that this manager made, and queues with their reasons."""
    label = f"{ORIGIN}={origin}"
    ours = (by_kind()["Workload"], *jobs)
    queues = (
        WatchedKind("Cohort", COHORTS, read_cohort_settings, _nothing, _nothing),
        WatchedKind("ClusterQueue", CLUSTER_QUEUES, read_remote_cluster_queue, _nothing, _nothing),
        WatchedKind("LocalQueue", LOCAL_QUEUES, read_remote_local_queue, _nothing, _nothing),
        WatchedKind("Namespace", NAMESPACES, read_remote_namespace, _nothing, _nothing),
    )
    return RemoteKinds(tuple(replace(each, label_selector=label) for each in ours), queues)


def _nothing(*_: object) -> None:
    """Objects of workers are none of the manager's world."""
