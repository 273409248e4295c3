"""Arithmetic on amounts as YuniKorn's core does it: sparse, and never beyond 64 bits.

None stands for no amounts at all, which some operations tell from amounts of nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from policies.quantity import INT64_MAX

INT64_MIN = -INT64_MAX - 1

Amounts: TypeAlias = Mapping[str, int]
"""By type, in YuniKorn's units: `vcore` in thousandths, the rest in whole units."""


def bounded(number: int) -> int:
    return max(INT64_MIN, min(INT64_MAX, number))


def plus(left: Amounts, right: Amounts) -> dict[str, int]:
    """The sum; it stops at the ends of int64."""
    return {name: bounded(left.get(name, 0) + right.get(name, 0)) for name in _names(left, right)}


def total(every: Iterable[Amounts]) -> dict[str, int]:
    result: dict[str, int] = {}
    for one in every:
        result = plus(result, one)
    return result


def over(wanted: Amounts, limit: Amounts) -> list[str]:
    """The types of which more is wanted than the limit names; a type that it does not name is without limit."""
    return sorted(name for name, amount in wanted.items() if name in limit and amount > max(0, limit[name]))


def least(left: Amounts, right: Amounts) -> dict[str, int]:
    """By type the smaller of the two; where only one names a type, that one."""
    return {name: min(side[name] for side in (left, right) if name in side) for name in _names(left, right)}


def is_positive(amounts: Amounts) -> bool:
    """None below zero, and one above."""
    return min(amounts.values(), default=0) >= 0 and any(amounts.values())


def _names(left: Amounts, right: Amounts) -> list[str]:
    return list(dict.fromkeys((*left, *right)))
