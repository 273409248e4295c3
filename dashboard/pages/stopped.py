"""Explains why a queue admits nothing, with the fix. Kueue's condition names neither the queue nor the fix."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.trees.tree import TreeNode
from scheduling.world.readiness import CANNOT_ADMIT, IS_STOPPED

_RESUME = "Resume it with `quotree resume clusterqueue {}`."
_CURES: Mapping[str, str] = {
    IS_STOPPED: _RESUME,
    "missing ResourceFlavor": "Create the ResourceFlavor, or take it out of the queue.",
    "missing AdmissionCheck": "Create the AdmissionCheck, or take it out of the queue.",
    "inactive AdmissionCheck": "Repair the AdmissionCheck: its status says what is wrong.",
    "there is no Topology": "Create the Topology, or take it out of the ResourceFlavor.",
    "form a cycle": "Give one of these Cohorts another parent.",
    "Cannot use": "Take one of these AdmissionChecks out of the queue.",
    "Cannot specify": "Name all flavors of the queue in the AdmissionCheck, or none.",
}
"""The fix for each fault, by a part of the fault's text."""


def why_stopped(node: TreeNode) -> str:
    """The sentences about a stopped node, without the kind and name that begin the first one; empty if not stopped."""
    if not node.stopped:
        return ""
    if node.dialect == "Volcano":
        return f"is {str(node.entry.get('state')).lower()} and admits nothing until it is open again."
    faults = node.stopped.removeprefix(CANNOT_ADMIT).lstrip(":; ").removesuffix(".")
    cures = [cure.format(node.name) for part, cure in _CURES.items() if part in faults]
    policy = node.entry.get("stopPolicy")
    said = f"is stopped{f' (stopPolicy {policy})' if policy else ''} and admits nothing"
    if faults != IS_STOPPED:
        said = f"admits nothing: {faults}"
    return " ".join([f"{said}.", *cures])
