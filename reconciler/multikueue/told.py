"""What is told of all workers, in the loop's thread: how they are connected, what is free there, what runs there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.multikueue.connections import Worker
from reconciler.multikueue.kubeconfigs import Login
from reconciler.multikueue.view import View
from scheduling.flavors.messages import written
from scheduling.objects import times
from scheduling.objects.times import SECOND
from scheduling.world.world import World

API_VERSION = "quotree.dev/v1alpha1"
_NAMED = 100
"""Placed workloads of each worker that are told by name; all are counted."""


def clusters_json(workers: Mapping[str, Worker], views: Mapping[str, View], world: World) -> dict[str, Any]:
    """All workers in the order of their names. Moments are RFC 3339, amounts as in manifests."""
    placed: dict[str, list[str]] = {}
    for workload in world.workloads.values():
        if workload.cluster and not workload.finished:
            placed.setdefault(workload.cluster, []).append(workload.key)
    items = [_cluster(workers[name], views.get(name), sorted(placed.get(name, []))) for name in sorted(workers)]
    return {"apiVersion": API_VERSION, "kind": "ClusterList", "items": items}


def _cluster(worker: Worker, view: View | None, placed: list[str]) -> dict[str, Any]:
    expiry = worker.login.expiry if isinstance(worker.login, Login) else None
    return {
        "name": worker.name,
        "connection": worker.state,
        "since": _moment(worker.connection.since),
        "lastSeen": _moment(int(worker.last_heard) * SECOND),
        "error": worker.message if worker.state != "connected" else "",
        "attempts": worker.link.failures,
        "nextAttempt": _moment(worker.link.retry_at if worker.state != "connected" else 0),
        "losses": worker.losses,
        "credentialsEnd": _moment(expiry.at * SECOND if expiry is not None else 0),
        "unread": list(worker.unread),
        "free": _free(view) if view is not None else [],
        "placed": len(placed),
        "workloads": placed[:_NAMED],
    }


def _free(view: View) -> list[dict[str, str]]:
    return [
        {
            "clusterQueue": queue,
            "flavor": pair.flavor,
            "resource": pair.resource,
            "free": written(pair.resource, amount),
        }
        for queue, pair, amount in view.left()
    ]


def _moment(moment: int) -> str | None:
    return times.written(moment) if moment else None
