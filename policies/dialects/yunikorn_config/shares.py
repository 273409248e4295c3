"""Shares of usage, by which YuniKorn orders queues and applications.

Source: YuniKorn core, `pkg/common/resources`.
"""

from __future__ import annotations

from collections.abc import Collection

from policies.dialects.yunikorn_config.resources import YuniKornAmounts


def shares(
    used: YuniKornAmounts | None, whole: YuniKornAmounts | None, types: Collection[str] | None = None
) -> list[float]:
    """The share of each type, the smallest first. For a type that `whole` lacks, the share is the used amount.

    `types`: the types that count; None means all.
    """
    parts = []
    for name, amount in (used or {}).items():
        if types is None or name in types:
            size = (whole or {}).get(name, 0)
            parts.append(amount / size if amount and size else float(amount))
    return sorted(parts)


def fair_share(used: YuniKornAmounts | None, guaranteed: YuniKornAmounts | None, most: YuniKornAmounts | None) -> float:
    """The largest ratio of used to guaranteed over all types, and at least 0.

    If nothing is guaranteed of a type, its maximum, `most`, counts instead. If that is 0 or less, any usage has the
    ratio 1.
    """
    parts = [0.0]
    for name, amount in (used or {}).items():
        measures = [side[name] for side in (guaranteed or {}, most or {}) if name in side]
        if amount >= 0 and measures:
            parts.append(amount / measures[0] if measures[0] > 0 else float(amount > 0))
    return max(parts)
