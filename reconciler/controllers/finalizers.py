"""The finalizer that keeps a ClusterQueue, ResourceFlavor, AdmissionCheck or Topology from deletion while it is in use.

Every such object gets the finalizer unless it is being deleted. The finalizer is removed when deletion was requested
and the object is not used any more. A ClusterQueue is used by the workloads that have quota in it. A flavor or a check
is used by the ClusterQueues that name it, and a Topology by the flavors that name it.
Source: Kueue v0.19, pkg/controller/core and pkg/controller/tas.
"""

from __future__ import annotations

from cluster.actions import Patch
from policies.dialects.kueue_kinds import IN_USE
from reconciler.objects.patches import manager_of
from reconciler.objects.stored import Stored
from reconciler.objects.topology_views import TOPOLOGY_VIEW
from reconciler.objects.watched import CHECK_VIEW, CLUSTER_QUEUE_VIEW, FLAVOR_VIEW
from scheduling.quota.touched import Touch
from scheduling.world.world import World

RESOURCE_FLAVOR = FLAVOR_VIEW.kind
ADMISSION_CHECK = CHECK_VIEW.kind
TOPOLOGY = TOPOLOGY_VIEW.kind
_RESOURCES = {view.kind: view.resource for view in (CLUSTER_QUEUE_VIEW, FLAVOR_VIEW, CHECK_VIEW, TOPOLOGY_VIEW)}

GUARDED = frozenset(_RESOURCES)
"""The kinds that have the finalizer."""


def users(world: World, touch: Touch) -> list[str]:
    """The names of the objects that still use this object."""
    kind, name = touch
    if kind == RESOURCE_FLAVOR:
        return world.queues_with_flavor(name)
    if kind == ADMISSION_CHECK:
        return world.queues_with_check(name)
    if kind == TOPOLOGY:
        return world.flavors_with_topology(name)
    queue = world.state.queues.get(name)
    return [*queue.reservations] if queue is not None else []


def finalizers(world: World, touch: Touch, stored: Stored) -> tuple[str, ...]:
    """The finalizers that the object should have. Finalizers of other controllers stay."""
    there = IN_USE in stored.finalizers
    if not stored.deleting:
        return stored.finalizers if there else (*stored.finalizers, IN_USE)
    if not there or users(world, touch):
        return stored.finalizers
    return tuple(each for each in stored.finalizers if each != IN_USE)


def finalizer_patch(world: World, touch: Touch, stored: Stored) -> Patch | None:
    """The patch that adds or removes the finalizer; None if nothing changes, or the kind has no such finalizer."""
    kind, name = touch
    if kind not in _RESOURCES:
        return None
    wanted = finalizers(world, touch, stored)
    if wanted == stored.finalizers:
        return None
    body = {"metadata": {"finalizers": [*wanted] or None}}
    return Patch(_RESOURCES[kind], None, name, body, stored.version, manager_of(kind))
