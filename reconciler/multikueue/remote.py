"""The kinds that are watched on worker clusters, and what is read of their queues and namespaces.

A worker is named by its MultiKueueCluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from cluster.resource import NAMESPACES
from policies.dialects.reading import Manifest, condition, listing, mapping, metadata, text
from reconciler.objects.watched import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOAD_VIEW, WatchedKind
from scheduling.objects import amounts
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import (
    ClusterQueueSettings,
    CohortSettings,
    LocalQueueSettings,
    read_cohort_settings,
    read_local_queue_settings,
    read_queue_settings,
)
from scheduling.objects.workload import ORIGIN


@dataclass(frozen=True, slots=True)
class RemoteActivity:
    """The condition Active of a queue. A queue without the condition counts as active."""

    active: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RemoteLocalQueue:
    settings: LocalQueueSettings
    activity: RemoteActivity = RemoteActivity()


@dataclass(frozen=True, slots=True)
class RemoteClusterQueue:
    """A ClusterQueue on a worker. `reserved`: the quota that all its workloads have, in base units."""

    settings: ClusterQueueSettings
    activity: RemoteActivity = RemoteActivity()
    reserved: Mapping[FlavorResource, int] = field(default_factory=dict)


def read_remote_local_queue(manifest: Manifest) -> RemoteLocalQueue:
    return RemoteLocalQueue(read_local_queue_settings(manifest), _activity(manifest))


def read_remote_cluster_queue(manifest: Manifest, *, orchestrated: bool = False) -> RemoteClusterQueue:
    """Read a ClusterQueue. `orchestrated`: whether `status.effectiveQuotas` replaces the quotas in the spec."""
    settings = read_queue_settings(manifest, orchestrated=orchestrated)
    return RemoteClusterQueue(settings, _activity(manifest), dict(_reserved(manifest)))


def read_remote_namespace(manifest: Manifest) -> str:
    return text(metadata(manifest).get("name")) or ""


def _activity(manifest: Manifest) -> RemoteActivity:
    active = condition(mapping(manifest.get("status")), "Active")
    return RemoteActivity(active.get("status") != "False", text(active.get("reason")) or "")


def _reserved(manifest: Manifest) -> Iterator[tuple[FlavorResource, int]]:
    for flavor in map(mapping, listing(mapping(manifest.get("status")).get("flavorsReservation"))):
        for entry in map(mapping, listing(flavor.get("resources"))):
            resource = text(entry.get("name")) or ""
            amount = amounts.read({resource: entry.get("total")}).get(resource, 0)
            yield FlavorResource(text(flavor.get("name")) or "", resource), amount


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
