"""The usage of the workloads of a ClusterQueue, or of a LocalQueue, kept as a running sum."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduling.objects.amounts import FlavorResource, Usage


@dataclass(slots=True, eq=False)
class UsageSum:
    """`reserved` counts all workloads with quota, `used` the admitted ones. Pairs with a sum of 0 may be absent."""

    reserving: int = 0
    admitted: int = 0
    reserved: dict[FlavorResource, int] = field(default_factory=dict)
    used: dict[FlavorResource, int] = field(default_factory=dict)

    def add(self, usage: Usage, admitted: bool, sign: int = 1) -> None:
        """Add a workload; with `sign` -1 remove one that was added the same way."""
        self.reserving += sign
        _sum(self.reserved, usage, sign)
        if admitted:
            self.admitted += sign
            _sum(self.used, usage, sign)


def _sum(total: dict[FlavorResource, int], usage: Usage, sign: int) -> None:
    for pair, amount in usage.items():
        left = total.get(pair, 0) + sign * amount
        if left:
            total[pair] = left
        else:
            total.pop(pair, None)
