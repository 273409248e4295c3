"""Why a worker does not admit a workload.

The texts contain no times or amounts, so they only change with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.placement.group import Group, PlacementRefusal, QueueState, WorkerCluster
from scheduling.status.checks import READY


def refusal(worker: WorkerCluster, local: Workload) -> PlacementRefusal | None:
    """Why the worker does not admit it; None if it does."""
    if worker.credentials:
        return PlacementRefusal("Misconfigured", f"cannot be used: {worker.credentials}")
    if not worker.reachable:
        return PlacementRefusal("Unreachable", "cannot be reached", passing=worker.connecting)
    if not worker.namespace:
        return PlacementRefusal("NamespaceMissing", f"has no namespace {local.namespace}; create it there")
    return worker.rejection or _by_queue(worker, local) or _by_workload(worker)


def _by_queue(worker: WorkerCluster, local: Workload) -> PlacementRefusal | None:
    name = local.local_queue
    queue, cluster_queue = worker.local_queue, worker.cluster_queue
    if not queue.exists:
        return PlacementRefusal("LocalQueueMissing", f"has no LocalQueue {name}; create it there")
    if not cluster_queue.exists:
        return PlacementRefusal("ClusterQueueMissing", f"has no ClusterQueue {cluster_queue.name}")
    if not cluster_queue.active:
        return PlacementRefusal(
            "ClusterQueueInactive", f"its ClusterQueue {cluster_queue.name} is inactive{_why(cluster_queue)}"
        )
    if not queue.active:
        return PlacementRefusal("LocalQueueInactive", f"its LocalQueue {name} is inactive{_why(queue)}")
    return None


def _why(queue: QueueState) -> str:
    return f" ({queue.reason})" if queue.reason else ""


def _by_workload(worker: WorkerCluster) -> PlacementRefusal | None:
    remote = worker.workload
    if remote is None:
        return worker.failure or PlacementRefusal("Waiting", "has no copy of it yet", passing=True)
    if worker.admitted is not None:
        return None
    if not remote.active:
        return PlacementRefusal("Deactivated", "has deactivated it")
    if remote.reserved:
        waiting = sorted(check.name for check in remote.checks if check.state != READY)
        if not waiting:
            return PlacementRefusal("ChecksNotReady", "is admitting it", passing=True)
        return PlacementRefusal("ChecksNotReady", f"waits for its checks {', '.join(waiting)}")
    found = remote.conditions.get(QUOTA_RESERVED)
    if found is None or found.reason == PENDING_EVALUATION:
        return PlacementRefusal("NoQuota", "has not evaluated it yet", passing=True)
    return PlacementRefusal("NoQuota", f"has no quota for it ({found.reason})")


def refusals(group: Group, nominated: Sequence[str]) -> list[tuple[str, PlacementRefusal]]:
    """The refusals of nominated workers and of those that could not be nominated, in the order of the config."""
    local = group.local
    if local is None:
        return []
    return [
        (worker.name, found)
        for worker in group.workers
        if worker.configured and worker.eligible and (worker.name in nominated or not worker.reachable)
        if (found := refusal(worker, local)) is not None
    ]


def refusal_text(group: Group, nominated: Sequence[str]) -> str | None:
    """All refusals as a text; None while one of them will change soon."""
    found = refusals(group, nominated)
    if any(each.passing for _, each in found):
        return None
    if not found and not nominated:
        return "No worker cluster can be nominated; check the clusters of the MultiKueueConfig and their labels"
    return "; ".join(f"{name} {each.message}" for name, each in found)
