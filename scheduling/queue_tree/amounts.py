"""Amounts by resource name, as whole numbers of a unit that the dialect chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Amounts: TypeAlias = Mapping[str, int]
Limits: TypeAlias = Mapping[str, float]
"""Whole numbers, or `math.inf` where there is no limit. What a missing resource means, the dialect says."""


def add_to(total: dict[str, int], more: Amounts, times: int = 1) -> None:
    """Add `times` the amounts in place; times -1 takes back what was added. What becomes 0 goes."""
    for resource, amount in more.items():
        left = total.get(resource, 0) + times * amount
        if left:
            total[resource] = left
        else:
            total.pop(resource, None)


def total(*summands: Amounts) -> dict[str, int]:
    together: dict[str, int] = {}
    for amounts in summands:
        add_to(together, amounts)
    return together


def exceeding(amounts: Amounts, part: Amounts) -> dict[str, int]:
    """What the amounts have beyond `part`, resource by resource; only what is above 0."""
    over = ((resource, amount - part.get(resource, 0)) for resource, amount in amounts.items())
    return {resource: amount for resource, amount in over if amount > 0}
