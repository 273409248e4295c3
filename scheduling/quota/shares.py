"""The dominant resource share of a node: its borrowing as a part of what it could borrow, divided by its weight.

Shares are exact fractions in thousandths. Only the published value is rounded. A root cannot borrow, so it has no
share. Source: Kueue v0.19, pkg/cache/scheduler/fair_sharing.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from policies.model.pools import UNLIMITED, plus
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import UNIT_WEIGHT
from scheduling.quota.node import QuotaNode

_NOTHING = Fraction(0)


@dataclass(frozen=True, slots=True)
class DominantShare:
    """The share of a node.

    borrowing: whether the node borrows. After a quota was lowered, a node may borrow although nothing can be borrowed;
        then the ratio is 0.
    resource: the dominant resource.
    ratio: the borrowed part of this resource in thousandths, before the division by `weight`.
    weight: in units of 1e-9.
    """

    borrowing: bool = False
    resource: str = ""
    ratio: Fraction = _NOTHING
    weight: int = UNIT_WEIGHT

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """The sort key of the share. A node that borrows with weight 0 comes after all nodes with a weight."""
        if not self.weight and self.ratio:
            return True, self.ratio
        return False, self.weighted

    @property
    def weighted(self) -> Fraction:
        """The weighted share; 0 if nothing is borrowed. Otherwise, weight 0 raises ZeroDivisionError."""
        if self.weight == UNIT_WEIGHT or not self.ratio:
            return self.ratio
        return self.ratio * UNIT_WEIGHT / self.weight

    @property
    def published(self) -> int:
        """The value in a status, rounded up; 2^63-1 for borrowing with weight 0."""
        infinite, share = self.rank
        return UNLIMITED if infinite else min(-(-share.numerator // share.denominator), UNLIMITED)

    def __str__(self) -> str:
        infinite, share = self.rank
        return "+Inf" if infinite else format(Decimal(repr(float(share))).normalize(), "f")


class Shares:
    """Computes the shares of nodes. It caches what can be borrowed, so it is only valid until quota changes."""

    def __init__(self) -> None:
        self._lendable: dict[tuple[QuotaNode, str], int] = {}  # the cached result of `lendable`
        self._pairs: dict[QuotaNode, dict[str, list[FlavorResource]]] = {}  # by root: the pairs of each resource

    def of(self, node: QuotaNode) -> DominantShare:
        if node.up is None:
            return DominantShare(weight=node.weight)
        borrowed = _borrowed(node)
        resource, most, of = "", 0, 1
        for name in sorted(borrowed):  # of equal ratios, the first resource by name counts
            lendable = self.lendable(node.up, name)
            if lendable > 0 and borrowed[name] * of > most * lendable:
                resource, most, of = name, borrowed[name], lendable
        return DominantShare(bool(borrowed), resource, Fraction(most * 1000, of) if most else _NOTHING, node.weight)

    def lendable(self, cohort: QuotaNode, resource: str) -> int:
        """The most that the children of the Cohort could ever use of the resource, over all flavors of the tree."""
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
    """Whether the node borrows any requested pair. A root never borrows."""
    return node.up is not None and any(amount > 0 and node.borrows(pair) for pair, amount in requested.items())


def _borrowed(node: QuotaNode) -> dict[str, int]:
    """The usage beyond quota by resource, summed over flavors."""
    borrowed: dict[str, int] = {}
    for pair, used in node.usage.items():
        above = used - node.quota(pair)
        if above > 0:
            borrowed[pair.resource] = borrowed.get(pair.resource, 0) + above
    return borrowed
