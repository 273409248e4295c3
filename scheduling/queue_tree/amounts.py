"""Amounts by resource name, as integers of a unit that the dialect chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scheduling.objects.amounts import add_to

Amounts: TypeAlias = Mapping[str, int]
Limits: TypeAlias = Mapping[str, float]
"""Integers, or `math.inf` for no limit. The dialect defines the limit of a resource that is missing here."""


def total(*summands: Amounts) -> dict[str, int]:
    together: dict[str, int] = {}
    for amounts in summands:
        add_to(together, amounts)
    return together


def exceeding(amounts: Amounts, limit: Amounts) -> dict[str, int]:
    """The part of each amount that exceeds `limit`; resources that do not exceed it are left out."""
    over = ((resource, amount - limit.get(resource, 0)) for resource, amount in amounts.items())
    return {resource: amount for resource, amount in over if amount > 0}


@dataclass(frozen=True, slots=True)
class Shortage:
    """A request that would exceed the limit of `queue` by `short`. All amounts are in the unit of the resource.

    used: the current usage, including reservations, without `requested`.
    """

    queue: str
    resource: str
    used: int
    requested: int
    limit: float

    @property
    def short(self) -> float:
        return self.used + self.requested - self.limit
