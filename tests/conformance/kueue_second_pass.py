"""Whether a workload that holds quota needs a second scheduling pass for its topology, for Kueue's own table.

Source: Kueue v0.19, pkg/workload (second pass of topology-aware scheduling).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.conversion.topology import expanded
from scheduling.objects.workload import Workload
from scheduling.status.reservation import waits_for_topology


def needs_second_pass(workload: Workload) -> bool:
    """True if its checks are Ready and its topology is pending, or if one of its nodes is unhealthy."""
    if workload.finished or workload.evicted or not workload.reserved:
        return False
    return _waits(workload) or _lost_a_node(workload)


def _waits(workload: Workload) -> bool:
    checked = bool(workload.checks) and workload.checks_ready
    return checked and waits_for_topology(workload) and not workload.admitted


def _lost_a_node(workload: Workload) -> bool:
    if not workload.admitted or workload.admission is None:
        return False
    lost = set(workload.unhealthy_nodes)
    return any(
        lost & _lowest_values(entry.topology) for entry in workload.admission.assignments if entry.topology is not None
    )


def _lowest_values(topology: Mapping[str, Any]) -> set[str]:
    """The values of the lowest topology level: host names, if the topology goes down to nodes."""
    domains = expanded(topology.get("slices")) or []
    return {domain["values"][-1] for domain in domains if domain["values"]}
