"""Shares of use, by which YuniKorn orders queues and applications.

Source: YuniKorn core, `pkg/common/resources`.
"""

from __future__ import annotations

from collections.abc import Collection

from policies.dialects.yunikorn_config.resources import Amounts

MOST_PERCENT = 2**31 - 1


def shares(used: Amounts | None, whole: Amounts | None, types: Collection[str] | None = None) -> list[float]:
    """The share of each type, the smallest first; for a type that the whole lacks, the amount itself.

    `types` are those that count, all of them where it is None.
    """
    parts = []
    for name, amount in (used or {}).items():
        if types is None or name in types:
            size = (whole or {}).get(name, 0)
            parts.append(amount / size if amount and size else float(amount))
    return sorted(parts)


def compared(left: list[float], right: list[float]) -> int:
    """-1, 0 or 1 as the left is smaller or larger: the largest parts first, and what one has beyond the other last."""
    a, b = left[::-1], right[::-1]
    for mine, theirs in zip(a, b, strict=False):
        if mine != theirs:
            return 1 if mine > theirs else -1
    rest, sign = (a[len(b) :], 1) if len(a) > len(b) else (b[len(a) :], -1)
    first = next((part for part in rest if part), 0.0)
    return sign * ((first > 0) - (first < 0))


def usage_compared(
    left: Amounts | None, right: Amounts | None, whole: Amounts | None, types: Collection[str] | None = None
) -> int:
    return compared(shares(left, whole, types), shares(right, whole, types))


def fairness(left: Amounts | None, right: Amounts | None, whole: Amounts | None) -> float:
    """The largest part of the left by that of the right; 1 where both are 0, infinite where only the right is."""
    mine, theirs = ((shares(side, whole) or [0.0])[-1] for side in (left, right))
    if theirs:
        return mine / theirs
    return 1.0 if not mine else float("inf") if mine > 0 else float("-inf")


def fair_share(used: Amounts | None, guaranteed: Amounts | None, most: Amounts | None) -> float:
    """The largest part of what is guaranteed, or of the most where nothing is guaranteed of a type; 0 at least.

    Of a type whose measure is 0 or less, any use is all of it.
    """
    parts = [0.0]
    for name, amount in (used or {}).items():
        measures = [side[name] for side in (guaranteed or {}, most or {}) if name in side]
        if amount >= 0 and measures:
            parts.append(amount / measures[0] if measures[0] > 0 else float(amount > 0))
    return max(parts)


def percent_used(capacity: Amounts | None, used: Amounts | None) -> dict[str, int]:
    """Whole percents of each type that both name; all of it where there is use and no capacity."""
    if capacity is None or used is None:
        return {}
    found = {}
    for name, size in capacity.items():
        if name in used:
            part = 0.0 if used[name] <= 0 else used[name] / size * 100 if size > 0 else 100.0
            found[name] = int(min(part, MOST_PERCENT))
    return found


def dominant(used: Amounts | None, capacity: Amounts | None) -> str:
    """The type of which the largest part is used, empty where there is none; use without capacity is all of it."""
    parts: dict[str, float] = {}
    for name, amount in (used or {}).items():
        if name in (capacity or {}):
            size = (capacity or {})[name]
            parts[name] = amount / size if size else float(amount != 0)
    return max((name for name, part in parts.items() if part >= 0), key=lambda name: parts[name], default="")


def percent_matching(wanted: Amounts | None, available: Amounts | None) -> int:
    """How many of the wanted types are available, in whole percents."""
    if not wanted or available is None:
        return 0
    return sum(name in available for name in wanted) * 100 // len(wanted)


def misfit(larger: Amounts | None, smaller: Amounts | None) -> float:
    """0 where it fits, and one more at most for each type of which a part is missing."""
    lacks = 0.0
    for name, amount in (smaller or {}).items():
        if amount > 0:
            lacks += max(0, amount - max(0, (larger or {}).get(name, 0))) / amount
    return lacks
