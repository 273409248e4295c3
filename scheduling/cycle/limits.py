"""What this engine does not decide. Such workloads are never admitted by ignoring what they ask for."""

from __future__ import annotations

from scheduling.objects.workload import Workload


def beyond(workload: Workload, in_topologies: bool = False) -> str:
    """What the workload asks for that the engine cannot decide, and what to do; empty where there is nothing.

    `in_topologies`: every flavor of its ClusterQueue has a topology, so that Kueue would place every pod in one.
    """
    if in_topologies:
        return (
            "every flavor of the ClusterQueue has a topology, in which Quotree does not place pods yet; "
            "add a flavor without topologyName, or let Kueue admit it"
        )
    for pod_set in workload.pod_sets:
        if pod_set.topology is not None:
            return (
                f"pod set {pod_set.name} asks for a topology, which Quotree does not place yet; "
                "remove its topologyRequest, or let Kueue admit it"
            )
        if pod_set.template.claims_devices:
            return (
                f"pod set {pod_set.name} claims devices by ResourceClaim, which Quotree does not count yet; "
                "ask for them as an extended resource, or let Kueue admit it"
            )
    if workload.elastic:
        return "it is a slice of an elastic job, which Quotree does not resize yet; let Kueue admit it"
    return ""
