"""The quota of a node in four numbers that Kueue, Volcano and YuniKorn all have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.model.objects import Ref
from policies.model.quantity import Quantity

_BINARY = ("memory", "ephemeral-storage")


class QuotaPair(NamedTuple):
    """`flavor` is empty where the project has none."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}" if self.flavor else self.resource


class PairQuota(NamedTuple):
    """What a node has of a pair, in nano units (1e-9 of the resource's unit). None stands for unlimited.

    `own` is what its manifest says: `nominalQuota`, `deserved`, `max`. `subtree` is what it has with all below it
    before it borrows. `guaranteed` is what nobody else can use. `reach` is the most that it could use were all others
    idle.
    """

    own: int | None = 0
    subtree: int | None = 0
    guaranteed: int | None = 0
    reach: int | None = 0


NO_QUOTA = PairQuota()


@dataclass(frozen=True, slots=True)
class NodeQuotas:
    """A node with its quota.

    `parent`: the name of its parent; empty for a root.
    `unlisted`: its quota of every pair that is not in `amounts`.
    """

    ref: Ref
    parent: str
    amounts: Mapping[QuotaPair, PairQuota] = field(default_factory=dict)
    unlisted: PairQuota = NO_QUOTA

    def of(self, pair: QuotaPair) -> PairQuota:
        return self.amounts.get(pair, self.unlisted)


Quotas = Mapping[Ref, NodeQuotas]


@dataclass(frozen=True, slots=True)
class Excess:
    """A node that uses more of a pair than it may, in nano units.

    `limit` is, in Kueue, its subtree's quota with its `borrowingLimit`, for a root the quota alone; in Volcano its
    realCapability, in YuniKorn its max.
    """

    ref: Ref
    pair: QuotaPair
    used: int
    limit: int


def amount_text(resource: str, nano: int | None) -> str:
    """The amount as Kubernetes writes it. Memory that is round in decimal units only is written in these, as 10G."""
    if nano is None:
        return "unlimited"
    decimal = str(Quantity.of_nano(nano))
    if resource not in _BINARY:
        return decimal
    binary = str(Quantity.of_nano(nano, "BinarySI"))
    return decimal if len(decimal) + 1 < len(binary) else binary  # one more for the `i` of a unit
