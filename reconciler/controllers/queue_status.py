"""Computes the status of ClusterQueues, LocalQueues and Cohorts, and the writes that change it.

A status is computed from the world alone. Only fields that differ from the stored status are written, bound to the
version that was read. Each field has Kueue's format, and fields of other writers stay. The conditions and the usage of
a Cohort are fields of our own CustomResourceDefinition; with Kueue's definition the API server would prune them.
Source: Kueue v0.19, pkg/controller/core; KEP-79 for the condition CohortActive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cluster.actions import Patch
from policies.model.objects import parted
from policies.mutation.patching import merge_patch
from reconciler.controllers.local_usage import admission_share
from reconciler.objects.activity import ACTIVE, ActiveCondition
from reconciler.objects.patches import manager_of
from reconciler.objects.stored import Stored, with_condition
from reconciler.objects.watched import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES
from scheduling.objects.amounts import FlavorResource, plus, quantity_of
from scheduling.objects.queue_settings import LocalQueueSettings
from scheduling.quota.node import QuotaNode, stored_below
from scheduling.quota.shares import Shares
from scheduling.quota.touched import CLUSTER_QUEUE, COHORT, LOCAL_QUEUE, Touch
from scheduling.world.readiness import Readiness
from scheduling.world.usage_report import QueueUsage, ResourceUsage, local_queue_usage, queue_usage
from scheduling.world.world import World

COHORT_ACTIVE = "CohortActive"
CYCLE = "CohortCycleDetected"
RESOURCES = {CLUSTER_QUEUE: CLUSTER_QUEUES, LOCAL_QUEUE: LOCAL_QUEUES, COHORT: COHORTS}
_FLAVORS, _OF_COHORT, _RESOURCES = 64, 256, 64
"""The most flavors in a status, and the most resources of each flavor."""
_BARE = Stored()
_NOTHING = QueueUsage((), (), 0, 0)


# -- the status of one object ------------------------------------------------------------------------------------------


def status_of_cluster_queue(
    world: World, name: str, before: Stored = _BARE, now: int = 0, shares: Shares | None = None
) -> dict[str, Any]:
    """The status of a ClusterQueue. Raises KeyError if it does not exist in the world. `now` is in nanoseconds."""
    queue = world.state.queues[name]
    usage, ready = queue_usage(queue), readiness_of(world, name)
    status = {
        **before.status,
        "conditions": with_condition(before, ACTIVE, *ready, now),
        "flavorsReservation": _flavors(usage.reserved, borrowed=True),
        "flavorsUsage": _flavors(usage.used, borrowed=True),
        "pendingWorkloads": len(world.queues.pending[name]),
        "reservingWorkloads": usage.reserving,
        "admittedWorkloads": usage.admitted,
        "fairSharing": _share(world, queue.node, shares),
    }
    return _present(status)


def status_of_local_queue(world: World, key: str, before: Stored = _BARE, now: int = 0) -> dict[str, Any]:
    """The status of the LocalQueue `namespace/name`. Raises KeyError if it does not exist in the world."""
    local = world.queues.local_queues[key]
    queue = world.state.queues.get(local.cluster_queue)
    usage = local_queue_usage(queue, local.namespace, local.name) if queue is not None else _NOTHING
    status = {
        **before.status,
        "conditions": with_condition(before, ACTIVE, *readiness_of_local(world, local), now),
        "pendingWorkloads": 0 if local.stopped else sum(1 for _ in world.queues.waiting_at(key)),
        "reservingWorkloads": usage.reserving,
        "admittedWorkloads": usage.admitted,
        "flavorsReservation": _flavors(usage.reserved),
        "flavorsUsage": _flavors(usage.used),
        "fairSharing": admission_share(world, key, before.status.get("fairSharing")),
    }
    return _present(status)


def status_of_cohort(
    world: World, name: str, before: Stored = _BARE, now: int = 0, shares: Shares | None = None, own_schema: bool = True
) -> dict[str, Any]:
    """The status of a Cohort. Raises KeyError if it does not exist in the world.

    `own_schema`: whether our CustomResourceDefinition is installed, and not Kueue's.
    """
    node = world.state.tree.cohorts[name]
    status = {**before.status, "fairSharing": _share(world, node, shares)}
    if own_schema:
        status["conditions"] = with_condition(before, COHORT_ACTIVE, *cohort_readiness(world, node), now)
        status["flavorsReservation"] = _flavors(_subtree_usage(world, node), True, _OF_COHORT)
    return _present(status)


def readiness_of(world: World, queue: str) -> ActiveCondition:
    """Whether a ClusterQueue admits work, considering its own state and its tree."""
    found: Readiness = world.can_admit(queue)
    return ActiveCondition(found.active, found.reason, found.message)


def readiness_of_local(world: World, local: LocalQueueSettings) -> ActiveCondition:
    if local.stop_policy != "None":
        return ActiveCondition(False, "Stopped", "LocalQueue is stopped")
    if local.cluster_queue not in world.state.queues:
        return ActiveCondition(False, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    if not world.can_admit(local.cluster_queue).active:
        return ActiveCondition(False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    return ActiveCondition(True, "Ready", "Can submit new workloads to localQueue")


def cohort_readiness(world: World, node: QuotaNode) -> ActiveCondition:
    if cycle := world.state.tree.broken(node):
        way = " -> ".join(cohort.name for cohort in (*cycle, cycle[0]))
        return ActiveCondition(
            False, CYCLE, f"Nothing new is admitted in the whole tree: its cohorts form a cycle: {way}"
        )
    return ActiveCondition(True, "Ready", "Workloads can be admitted in this cohort")


def _subtree_usage(world: World, node: QuotaNode) -> tuple[ResourceUsage, ...]:
    """The total usage of all ClusterQueues in the subtree, and how much of it is borrowed from outside; sorted."""
    total: dict[FlavorResource, int] = {}
    for each in stored_below(node):
        if each.is_queue:
            for pair, amount in world.state.queues[each.name].usage.reserved.items():
                total[pair] = plus(total.get(pair, 0), amount)
    pairs = sorted({pair for pair in node.subtree if node.quota(pair)} | total.keys())
    outside = node.up is not None and not world.state.tree.broken(node)
    return tuple(
        ResourceUsage(pair, total.get(pair, 0), max(0, node.used(pair) - node.quota(pair)) if outside else 0)
        for pair in pairs
    )


def _flavors(usage: Iterable[ResourceUsage], borrowed: bool = False, most: int = _FLAVORS) -> list[dict[str, Any]]:
    """The usage by flavor, as far as the schema's limits allow. Flavors keep their order; resources are sorted."""
    found: dict[str, list[dict[str, Any]]] = {each.pair.flavor: [] for each in usage}
    for entry in sorted(usage, key=lambda each: each.pair.resource):
        resource = entry.pair.resource
        shown = {"name": resource, "total": str(quantity_of(resource, entry.total))}
        if borrowed:
            shown["borrowed"] = str(quantity_of(resource, entry.borrowed))
        found[entry.pair.flavor].append(shown)
    return [{"name": flavor, "resources": found[flavor][:_RESOURCES]} for flavor in [*found][:most]]


def _share(world: World, node: QuotaNode, shares: Shares | None) -> dict[str, Any] | None:
    if not world.state.options.fair_sharing:
        return None
    broken = world.state.tree.broken(node)  # on or below a cycle, sums have no meaning
    return {"weightedShare": 0 if broken else (shares or Shares()).of(node).published}


def _present(status: Mapping[str, Any]) -> dict[str, Any]:
    """The status without empty fields. Counts of 0 are kept."""
    return {key: value for key, value in status.items() if value is not None and value != [] and value != {}}


# -- the write of a status --------------------------------------------------------------------------------------------


def change(
    world: World,
    touch: Touch,
    before: Stored | None,
    now: int,
    shares: Shares | None = None,
    cohorts_own_schema: bool = True,
) -> Patch | None:
    """The write that changes the status; None if the status is up to date, or the object is gone.

    `before`: the stored object, None if it is gone.
    `cohorts_own_schema`: as for `status_of_cohort`.
    """
    after = _status(world, touch, before, now, shares, cohorts_own_schema) if before is not None else None
    body = merge_patch(before.status, after) if before is not None and after is not None else {}
    if before is None or not body:
        return None
    kind, key = touch
    namespace, name = parted(key)
    manager = manager_of(kind)
    return Patch(RESOURCES[kind], namespace or None, name, {"status": body}, before.version, manager, "status")


def _status(
    world: World, touch: Touch, before: Stored, now: int, shares: Shares | None, cohorts_own_schema: bool
) -> dict[str, Any] | None:
    kind, key = touch
    if kind == CLUSTER_QUEUE:
        return status_of_cluster_queue(world, key, before, now, shares) if key in world.state.queues else None
    if kind == LOCAL_QUEUE:
        return status_of_local_queue(world, key, before, now) if key in world.queues.local_queues else None
    if kind == COHORT and key in world.state.tree.cohorts:
        return status_of_cohort(world, key, before, now, shares, cohorts_own_schema)
    return None
