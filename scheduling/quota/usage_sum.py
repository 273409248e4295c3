"""The usage of a ClusterQueue or a LocalQueue, kept as a running sum over its workloads."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduling.objects.amounts import FlavorResource, Usage, add_to


@dataclass(slots=True, eq=False)
class UsageSum:
    """The sums over workloads. Pairs with a sum of 0 may be absent.

    reserving, reserved: the number and the usage of all workloads with quota.
    admitted, used: the number and the usage of the admitted ones.
    """

    reserving: int = 0
    admitted: int = 0
    reserved: dict[FlavorResource, int] = field(default_factory=dict)
    used: dict[FlavorResource, int] = field(default_factory=dict)

    def add(self, usage: Usage, admitted: bool, sign: int = 1) -> None:
        """Add a workload; with `sign` -1, remove one that was added with the same usage."""
        self.reserving += sign
        add_to(self.reserved, usage, sign)
        if admitted:
            self.admitted += sign
            add_to(self.used, usage, sign)
