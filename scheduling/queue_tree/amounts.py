"""Amounts by resource name, as whole numbers of a unit that the dialect chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from scheduling.objects.amounts import add_to

Amounts: TypeAlias = Mapping[str, int]
Limits: TypeAlias = Mapping[str, float]
"""Whole numbers, or `math.inf` where there is no limit. What a missing resource means, the dialect says."""


def total(*summands: Amounts) -> dict[str, int]:
    together: dict[str, int] = {}
    for amounts in summands:
        add_to(together, amounts)
    return together


def exceeding(amounts: Amounts, limit: Amounts) -> dict[str, int]:
    """What the amounts have beyond `limit`, resource by resource; only what is above 0."""
    over = ((resource, amount - limit.get(resource, 0)) for resource, amount in amounts.items())
    return {resource: amount for resource, amount in over if amount > 0}
