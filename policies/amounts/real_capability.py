"""Computes Volcano's realCapability of one resource: the most that a queue may use. `inf` means no limit.

Source: Volcano v1.16, pkg/scheduler/plugins/capacity, buildHierarchicalQueueAttrs.
"""

from __future__ import annotations

from math import inf


def real_capability(above: float, promised: float, guarantee: float, capability: float) -> float:
    """The realCapability of a queue: its guarantee and what its parent has left, but at most its capability.

    `above`: the realCapability of the parent.
    `promised`: the sum of the guarantees of the parent's children.
    """
    # amounts may be integers that are too large for a float
    left = max(0, above - promised) + guarantee if above < inf else inf
    return min(left, capability)
