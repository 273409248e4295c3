"""Arithmetic on amounts as in YuniKorn's core, with results clamped to 64 bits.

A missing type counts as 0 unless a function says otherwise. None means that there are no amounts. Some functions
distinguish None from empty amounts. Source: YuniKorn core, `pkg/common/resources`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from policies.model.quantity import INT64_MAX

INT64_MIN = -INT64_MAX - 1

YuniKornAmounts: TypeAlias = Mapping[str, int]
"""Amounts by type, in YuniKorn's units: `vcore` in thousandths, all other types in whole units."""


def bounded(number: int) -> int:
    """The number, clamped to int64."""
    return max(INT64_MIN, min(INT64_MAX, number))


def _names(left: YuniKornAmounts, right: YuniKornAmounts) -> list[str]:
    return list(dict.fromkeys((*left, *right)))


# -- sums and products -------------------------------------------------------------------------------------------------


def plus(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int]:
    left, right = left or {}, right or {}
    return {name: bounded(left.get(name, 0) + right.get(name, 0)) for name in _names(left, right)}


def minus(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int]:
    left, right = left or {}, right or {}
    return {name: bounded(left.get(name, 0) - right.get(name, 0)) for name in _names(left, right)}


def total(every: Iterable[YuniKornAmounts]) -> dict[str, int]:
    result: dict[str, int] = {}
    for one in every:
        for name, amount in one.items():
            result[name] = bounded(result.get(name, 0) + amount)
    return result


def times(amounts: YuniKornAmounts | None, factor: int | float) -> dict[str, int]:
    """Each amount times the factor, rounded towards 0; empty for the factor 0."""
    if not factor:
        return {}
    return {name: bounded(int(amount * factor)) for name, amount in (amounts or {}).items()}


# -- minimum and maximum -----------------------------------------------------------------------------------------------


def least(*every: YuniKornAmounts | None) -> dict[str, int]:
    """The smallest amount of each type. Amounts that do not have the type do not count."""
    result: dict[str, int] = {}
    for one in every:
        for name, amount in (one or {}).items():
            if name not in result or amount < result[name]:
                result[name] = amount
    return result


def largest(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int]:
    """The larger amount of each type, where a missing type is 0; empty if one side is None."""
    if left is None or right is None:
        return {}
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in _names(left, right)}


# -- comparisons -------------------------------------------------------------------------------------------------------


def is_zero(amounts: YuniKornAmounts | None) -> bool:
    return not any((amounts or {}).values())


def is_positive(amounts: YuniKornAmounts | None) -> bool:
    """Whether no amount is below zero, and at least one is above."""
    return not is_zero(amounts) and not has_negative(amounts)


def has_negative(amounts: YuniKornAmounts | None) -> bool:
    return any(amount < 0 for amount in (amounts or {}).values())


def over(wanted: YuniKornAmounts, limit: YuniKornAmounts) -> list[str]:
    """The types whose amount exceeds the limit. A type that the limit does not name is unlimited."""
    return sorted(name for name, amount in wanted.items() if name in limit and amount > max(0, limit[name]))


# -- the form in which the shim sends amounts --------------------------------------------------------------------------


def from_tag(text: str) -> dict[str, int]:
    """Read amounts such as `{"resources":{"vcore":{"value":4000}}}`. Raises ValueError."""
    parsed = json.loads(text)
    values = parsed.get("resources") if isinstance(parsed, dict) else parsed
    if not isinstance(values if values is not None else {}, dict) or not isinstance(parsed, dict | None):
        raise ValueError("the tag holds no resources")
    return {name: _tagged(amount) for name, amount in (values or {}).items()}


def _tagged(amount: object) -> int:
    value = amount.get("value", 0) if isinstance(amount, dict) else amount
    if amount is None or value is None:
        return 0
    if not isinstance(amount, dict) or isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{amount!r} is not an amount")
    if bounded(value) != value:
        raise ValueError(f"{value} is beyond 64 bits")
    return value
