"""All workers as JSON: their connections, their free quota and the workloads on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reconciler.multikueue.connections import ConnectedWorker
from reconciler.multikueue.kubeconfigs import RefusedKubeconfig, WorkerLogin
from reconciler.multikueue.worker_cache import WorkerCache
from scheduling.flavors.messages import amount_text
from scheduling.objects import times
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Workload
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"
_NAMED = 100
"""The most workloads of a worker that are listed by name. All of them are counted."""


class ClusterReading(NamedTuple):
    """What is read in the loop's thread. The JSON is made in another thread, because there may be many workloads."""

    clusters: list[dict[str, Any]]
    workloads: list[Workload]


def read(workers: Mapping[str, ConnectedWorker], caches: Mapping[str, WorkerCache], world: World) -> ClusterReading:
    """Read the workers, sorted by name. Call this in the loop's thread."""
    found = [_cluster(workers[name], caches.get(name)) for name in sorted(workers)]
    return ClusterReading(found, [*world.workloads.values()] if found else [])


def clusters_json(found: ClusterReading, *, named: bool) -> dict[str, Any]:
    """The JSON. `named`: whether to list the names of the workloads on each worker, and not only their number."""
    placed: dict[str, list[str]] = {}
    for workload in found.workloads:
        if workload.cluster and not workload.finished:
            placed.setdefault(workload.cluster, []).append(workload.key)
    items = []
    for each in found.clusters:
        names = placed.get(each["name"], [])
        items.append({**each, "placed": len(names), "workloads": sorted(names)[:_NAMED] if named else []})
    return {"apiVersion": API_VERSION, "kind": "ClusterList", "items": items}


def _cluster(worker: ConnectedWorker, cache: WorkerCache | None) -> dict[str, Any]:
    missing = worker.login.secret if isinstance(worker.login, RefusedKubeconfig) else ""
    expiry = worker.login.expiry if isinstance(worker.login, WorkerLogin) else None
    return {
        "name": worker.name,
        "connection": worker.state,
        "since": _moment(worker.connection.since),
        "lastSeen": _moment(int(worker.last_heard) * SECOND),
        "error": worker.message if worker.state != "connected" else "",
        **({"missingSecret": missing} if missing else {}),
        "attempts": worker.link.failures,
        "nextAttempt": _moment(worker.link.retry_at if worker.state != "connected" else 0),
        "losses": worker.losses,
        "credentialsEnd": _moment(expiry.at * SECOND if expiry is not None else 0),
        "unread": list(worker.unread),
        "free": _free(cache) if cache is not None else [],
    }


def _free(cache: WorkerCache) -> list[dict[str, str]]:
    return [
        {
            "clusterQueue": queue,
            "flavor": pair.flavor,
            "resource": pair.resource,
            "free": amount_text(pair.resource, amount),
        }
        for queue, pair, amount in cache.left()
    ]


def _moment(moment: int) -> str | None:
    return times.rfc3339(moment) if moment else None
