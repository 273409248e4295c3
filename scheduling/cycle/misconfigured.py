"""Why a workload cannot be tried: because of its namespace, its pods, or features that Quotree does not support."""

from __future__ import annotations

from typing import NamedTuple

from scheduling.flavors.eligibility import topology_only
from scheduling.objects.admissibility import misfit
from scheduling.objects.requests import per_pod
from scheduling.objects.workload import Workload
from scheduling.queues.pending import Requeue
from scheduling.world.world import World

OUT_OF_SELECTOR = "workload namespace doesn't match ClusterQueue selector"


class Misconfigured(NamedTuple):
    """Why the workload cannot be tried. `requeue`: the reason with which it returns to its queue."""

    message: str
    requeue: Requeue = Requeue.GENERIC


def misconfigured(world: World, name: str, workload: Workload) -> Misconfigured | None:
    """Why the workload cannot be tried; None if it can. `workload` is from a queue entry, with completed templates."""
    if workload.namespace not in world.queues.namespaces:
        return Misconfigured("Could not obtain workload namespace")
    if not world.queues.serves(name)(workload.namespace):
        return Misconfigured(OUT_OF_SELECTOR, Requeue.NAMESPACE_MISMATCH)
    placed = world.state.fleet is not None or not world.state.options.topologies
    settings = world.state.queues[name].settings
    in_topologies = not placed and topology_only(world.state, settings)
    if not settings.groups and any(per_pod(pod_set.template) for pod_set in workload.pod_sets):
        in_topologies = False  # the search for flavors reports the resource without quota
    wrong = unsupported(workload, in_topologies, placed) or misfit(workload, world.around(workload.namespace))
    if not wrong:
        return None
    others_can_help = in_topologies or workload.elastic
    return Misconfigured(wrong, Requeue.GENERIC if others_can_help else Requeue.MISFIT)


def unsupported(workload: Workload, in_topologies: bool = False, placed: bool = False) -> str:
    """Which feature of the workload the engine does not support, and what to do; empty if it supports all.

    in_topologies: all flavors of its ClusterQueue have topologies, so every pod set needs a place.
    placed: the engine knows the nodes, or topologies are switched off.
    """
    if in_topologies:
        return "the ClusterQueue has no flavor without a topology, and the Nodes are not known here"
    for pod_set in workload.pod_sets:
        if pod_set.asks_for_topology and not placed:
            return f"pod set {pod_set.name} requests a topology, and the Nodes are not known here"
    return ""
