"""The dominant resource share: how much a node has borrowed of what it could, in thousandths, by its fair weight.

Exact: shares are fractions and are compared as such; only what is published is rounded. A share is about borrowing
alone, so a root, which has nobody to borrow from, has none. Source: Kueue v0.19, pkg/cache/scheduler/fair_sharing.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from policies.model.pools import UNLIMITED, plus
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.quota.node import QuotaNode

_UNIT_WEIGHT = 10**9
_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class Share:
    """`ratio` is in thousandths of what can be borrowed of `resource`, before division by `weight` (units of 1e-9).

    `borrowing` also holds where nothing can be borrowed and yet something is, after a cut; the ratio is 0 then.
    """

    borrowing: bool = False
    resource: str = ""
    ratio: Fraction = _NOTHING
    weight: int = _UNIT_WEIGHT

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """What shares are compared by. Who borrows with weight 0 comes after all who have a weight."""
        if not self.weight and self.ratio:
            return True, self.ratio
        return False, self.weighted

    @property
    def weighted(self) -> Fraction:
        """The share itself; nothing of nothing is 0 by any weight. Raises ZeroDivisionError for weight 0 else."""
        if self.weight == _UNIT_WEIGHT or not self.ratio:
            return self.ratio
        return self.ratio * _UNIT_WEIGHT / self.weight

    @property
    def published(self) -> int:
        """Rounded up, as a status shows it; 2^63-1 stands for borrowing with weight 0."""
        infinite, share = self.rank
        return UNLIMITED if infinite else min(-(-share.numerator // share.denominator), UNLIMITED)

    def __str__(self) -> str:
        infinite, share = self.rank
        return "+Inf" if infinite else format(Decimal(repr(float(share))).normalize(), "f")


class Shares:
    """Works out shares of nodes as they are. What can be borrowed is remembered: make a new one when quota changes."""

    def __init__(self) -> None:
        self._lendable: dict[tuple[QuotaNode, str], int] = {}
        self._pairs: dict[QuotaNode, dict[str, list[FlavorResource]]] = {}

    def of(self, node: QuotaNode) -> Share:
        if node.up is None:
            return Share(weight=node.weight)
        borrowed = _borrowed(node)
        resource, most, of = "", 0, 1
        for name in sorted(borrowed):  # of equal ones the first by name
            lendable = self.lendable(node.up, name)
            if lendable > 0 and borrowed[name] * of > most * lendable:
                resource, most, of = name, borrowed[name], lendable
        return Share(bool(borrowed), resource, Fraction(most * 1000, of) if most else _NOTHING, node.weight)

    def lendable(self, cohort: QuotaNode, resource: str) -> int:
        """The most that the children of the cohort could ever use of the resource, over all flavors of the tree."""
        known = self._lendable.get((cohort, resource))
        if known is None:
            known = 0
            for pair in self._flavors_of(cohort.root).get(resource, ()):
                known = plus(known, cohort.potential(pair))
            self._lendable[cohort, resource] = known
        return known

    def _flavors_of(self, root: QuotaNode) -> dict[str, list[FlavorResource]]:
        if root not in self._pairs:
            pairs = self._pairs[root] = {}
            for pair in root.subtree:
                pairs.setdefault(pair.resource, []).append(pair)
        return self._pairs[root]


def borrows_on(node: QuotaNode, requested: Usage) -> bool:
    """Whether the node borrows on something that is requested, more than 0 of it; never at a root."""
    return node.up is not None and any(amount > 0 and node.borrows(pair) for pair, amount in requested.items())


def _borrowed(node: QuotaNode) -> dict[str, int]:
    """By resource, the sum of what is above quota, flavor by flavor."""
    borrowed: dict[str, int] = {}
    for pair, used in node.usage.items():
        above = used - node.quota(pair)
        if above > 0:
            borrowed[pair.resource] = borrowed.get(pair.resource, 0) + above
    return borrowed
