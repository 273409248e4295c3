"""The state of workers as the managing cluster stores it. For programs without a running reconciler."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import NotFound
from cluster.resource import Manifest, Resource
from policies.dialects.reading import mapping, text
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

_CONNECTION = {"True": "connected", "False": "not connected"}


def stored_clusters(cluster: ClusterClient) -> dict[str, Any]:
    """The workers with their conditions and the number of Workloads on each, as JSON. Raises ClusterError."""
    configs = [read_multikueue_config(each) for each in _all(cluster, MULTIKUEUE_CONFIGS)]
    placed = Counter(filter(None, (_placed(each) for each in _all(cluster, WORKLOADS))))
    workers = sorted(map(read_multikueue_cluster, _all(cluster, MULTIKUEUE_CLUSTERS)), key=lambda each: each.name)
    items = [
        _item(each, sorted(config.name for config in configs if each.name in config.clusters), placed[each.name])
        for each in workers
    ]
    return {"apiVersion": API_VERSION, "kind": "ClusterList", "items": items}


def _all(cluster: ClusterClient, resource: Resource) -> tuple[Manifest, ...]:
    """All objects of a kind; empty if the kind is not installed."""
    try:
        return cluster.snapshot(resource, lambda manifest: manifest).items
    except NotFound:
        return ()


def _placed(workload: Manifest) -> str | None:
    status = mapping(workload.get("status"))
    conditions = map(mapping, status.get("conditions") or ())
    over = any(each.get("type") == "Finished" and each.get("status") == "True" for each in conditions)
    return None if over else text(status.get("clusterName"))


def _item(worker: MultiKueueCluster, configs: list[str], placed: int) -> dict[str, Any]:
    active = worker.active
    return {
        "name": worker.name,
        "configs": configs,
        "connection": _CONNECTION.get(active.status, "not known yet"),
        "since": times.written(active.since) if active.since else None,
        "reason": active.reason,
        "error": "" if active.holds else active.message,
        "placed": placed,
    }
