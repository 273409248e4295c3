"""Reads the state of worker clusters from the manager cluster, without asking a reconciler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from cluster.client import ClusterClient
from cluster.errors import NotFound
from cluster.resource import Manifest, Resource
from policies.dialects.reading import condition, mapping, text
from reconciler.multikueue.cluster_list import API_VERSION
from reconciler.multikueue.objects import (
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    MultiKueueCluster,
    read_multikueue_cluster,
    read_multikueue_config,
)
from reconciler.objects.patches import WORKLOADS
from scheduling.objects import times

T = TypeVar("T")
_CONNECTION = {"True": "connected", "False": "not connected"}


def stored_clusters(cluster: ClusterClient) -> dict[str, Any]:
    """The connection of each worker cluster, and the number of Workloads on it, as JSON. Raises ClusterError."""
    configs = _all(cluster, MULTIKUEUE_CONFIGS, read_multikueue_config)
    placed = Counter(filter(None, _all(cluster, WORKLOADS, _worker_of)))
    workers = sorted(_all(cluster, MULTIKUEUE_CLUSTERS, read_multikueue_cluster), key=lambda each: each.name)
    items = [
        _item(each, sorted(config.name for config in configs if each.name in config.clusters), placed[each.name])
        for each in workers
    ]
    return {"apiVersion": API_VERSION, "kind": "ClusterList", "items": items}


def _all(cluster: ClusterClient, resource: Resource, keep: Callable[[Manifest], T]) -> tuple[T, ...]:
    """What `keep` returns for each object of a kind; empty if the kind is not installed."""
    try:
        return cluster.snapshot(resource, keep).items
    except NotFound:
        return ()


def _worker_of(workload: Manifest) -> str | None:
    """The worker cluster on which a Workload runs; None if it has none, or is finished."""
    status = mapping(workload.get("status"))
    finished = condition(status, "Finished").get("status") == "True"
    return None if finished else text(status.get("clusterName"))


def _item(worker: MultiKueueCluster, configs: list[str], placed: int) -> dict[str, Any]:
    active = worker.active
    return {
        "name": worker.name,
        "configs": configs,
        "connection": _CONNECTION.get(active.status, "not known yet"),
        "since": times.rfc3339(active.since) if active.since else None,
        "reason": active.reason,
        "error": "" if active.holds else active.message,
        "placed": placed,
    }
