"""The kinds that are watched on worker clusters. A worker is named by its MultiKueueCluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from cluster.resource import NAMESPACES
from reconciler.multikueue.remote_objects import (
    RemoteClusterQueue,
    RemoteLocalQueue,
    read_remote_cluster_queue,
    read_remote_local_queue,
    read_remote_namespace,
)
from reconciler.objects.watched import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOAD_VIEW, WatchedKind
from scheduling.objects.queue_settings import CohortSettings, read_cohort_settings
from scheduling.objects.workload import ORIGIN

REMOTE_COHORTS: WatchedKind[CohortSettings] = WatchedKind("Cohort", COHORTS, read_cohort_settings)
REMOTE_CLUSTER_QUEUES: WatchedKind[RemoteClusterQueue] = WatchedKind(
    "ClusterQueue", CLUSTER_QUEUES, read_remote_cluster_queue
)
REMOTE_LOCAL_QUEUES: WatchedKind[RemoteLocalQueue] = WatchedKind("LocalQueue", LOCAL_QUEUES, read_remote_local_queue)
REMOTE_NAMESPACES: WatchedKind[str] = WatchedKind("Namespace", NAMESPACES, read_remote_namespace)
"""The views of queues on workers. They do not change the manager's world."""


def remote_kinds(
    origin: str, jobs: Iterable[WatchedKind[object]], *, orchestrated: bool = False
) -> tuple[WatchedKind[object], ...]:
    """The kinds to watch on a worker: queues, and the Workloads and jobs that this manager created.

    `orchestrated`: whether `status.effectiveQuotas` replaces the quotas in the spec, as on this cluster.
    """
    label = f"{ORIGIN}={origin}"
    return (
        replace(REMOTE_COHORTS, read=partial(read_cohort_settings, orchestrated=orchestrated)),
        replace(REMOTE_CLUSTER_QUEUES, read=partial(read_remote_cluster_queue, orchestrated=orchestrated)),
        REMOTE_LOCAL_QUEUES,
        REMOTE_NAMESPACES,
        *(replace(each, label_selector=label) for each in (WORKLOAD_VIEW, *jobs)),
    )
