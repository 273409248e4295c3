"""The quota of a node as four numbers that apply to Kueue, Volcano and YuniKorn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.model.objects import Ref
from policies.model.quantity import Quantity

_BINARY = ("memory", "ephemeral-storage")


class QuotaPair(NamedTuple):
    """A resource, with its flavor in Kueue. `flavor`: empty for Volcano and YuniKorn."""

    flavor: str
    resource: str

    def __str__(self) -> str:
        return f"{self.flavor}/{self.resource}" if self.flavor else self.resource


class PairQuota(NamedTuple):
    """The quota of a node for a pair, in nano units (1e-9 of the resource's unit). None stands for unlimited.

    `own`: the amount in its manifest: `nominalQuota`, `deserved` or `max`.
    `subtree`: the quota of the node and its descendants, without borrowing.
    `guaranteed`: the amount that no other node can use.
    `reach`: the most that it could use if all other nodes were idle.
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

    `limit`: in Kueue the subtree quota plus `borrowingLimit`, for a root only the subtree quota; in Volcano the
    realCapability; in YuniKorn the max.
    """

    ref: Ref
    pair: QuotaPair
    used: int
    limit: int


def amount_text(resource: str, nano: int | None) -> str:
    """The amount as Kubernetes writes it. Memory is written in decimal units, such as 10G, only if that is shorter."""
    if nano is None:
        return "unlimited"
    decimal = str(Quantity.of_nano(nano))
    if resource not in _BINARY:
        return decimal
    binary = str(Quantity.of_nano(nano, "BinarySI"))
    return decimal if len(decimal) + 1 < len(binary) else binary  # 1 for the `i` of a binary unit
