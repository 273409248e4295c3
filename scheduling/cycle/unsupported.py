"""What this engine cannot decide. It never admits such a workload by ignoring what it asks for."""

from __future__ import annotations

from scheduling.objects.workload import Workload


def unsupported(workload: Workload, in_topologies: bool = False, placed: bool = False) -> str:
    """What the engine cannot decide about the workload, and what to do; empty if there is nothing.

    `in_topologies`: its ClusterQueue has no flavor without a topology, so every pod set needs a place. `placed`: the
    engine knows the nodes, or topologies are off.
    """
    if in_topologies:
        return "the ClusterQueue has no flavor without a topology, and the Nodes are not known here"
    for pod_set in workload.pod_sets:
        if pod_set.asks_for_topology and not placed:
            return f"pod set {pod_set.name} requests a topology, and the Nodes are not known here"
        if pod_set.template.claims_devices:
            return (
                f"pod set {pod_set.name} claims devices by ResourceClaim, which Quotree does not count yet; "
                "request them as an extended resource, or let Kueue admit it"
            )
    return ""
