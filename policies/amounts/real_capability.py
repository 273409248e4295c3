"""Volcano's realCapability of one resource: what a queue may use at most. Any unit will do; `inf` means no limit.

Source: Volcano v1.16, pkg/scheduler/plugins/capacity, buildHierarchicalQueueAttrs.
"""

from __future__ import annotations

from math import inf

BASIC = ("cpu", "memory")
"""The resources whose capability is inherited if it is 0 or absent. Others are scalar resources."""


def limits(resource: str, capability: int) -> bool:
    """Whether a capability counts. One of 0 shuts the queue out, but for the basic resources."""
    return capability > 0 or resource not in BASIC


def real_capability(above: float, promised: float, guarantee: float, capability: float) -> float:
    """What is left `above` of what all children there are `promised`, and the own guarantee; at most the capability."""
    left = max(0, above - promised) + guarantee if above < inf else inf  # amounts may be beyond what a float holds
    return min(left, capability)
