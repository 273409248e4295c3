"""Operations of YuniKorn's core on amounts that no part of Quotree needs, for its own tables.

None means no amounts at all, which some operations distinguish from empty amounts. Source: YuniKorn core,
`pkg/common/resources` and `pkg/scheduler/objects/preemption.go`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from policies.dialects.yunikorn_config.resources import YuniKornAmounts, bounded, least, minus
from policies.dialects.yunikorn_config.shares import shares

_MOST_PERCENT = 2**31 - 1

# -- sums, the smaller -------------------------------------------------------------------------------------------------


def plus_existing(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int] | None:
    """Only the types of `left`."""
    return None if left is None else {name: bounded(left[name] + (right or {}).get(name, 0)) for name in left}


def minus_existing(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int] | None:
    """Only the types of `left`: a type that a headroom does not name is unlimited."""
    return None if left is None else {name: bounded(left[name] - (right or {}).get(name, 0)) for name in left}


def minus_to_zero(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> tuple[dict[str, int], list[str]]:
    """The difference, cut at 0, and the types that would be negative."""
    difference = minus(left, right)
    below = [name for name in difference if name in (right or {}) and difference[name] < 0]
    return {name: 0 if name in below else amount for name, amount in difference.items()}, below


def least_existing(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int] | None:
    """The smaller amount of each type of `left`; see `least`."""
    return None if left is None else {name: min(left[name], (right or {}).get(name, left[name])) for name in left}


def filled(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> dict[str, int] | None:
    """`left`, and of `right` the types that it does not name."""
    return None if left is None and right is None else {**(right or {}), **(left or {})}


# -- comparisons -------------------------------------------------------------------------------------------------------


def equal(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> bool:
    """A missing type is 0, but None equals only None."""
    if left is None or right is None:
        return left is right
    return all(left.get(name, 0) == right.get(name, 0) for name in left.keys() | right)


def share_a_type(left: YuniKornAmounts | None, right: YuniKornAmounts | None) -> bool:
    return not (left or {}).keys().isdisjoint(right or {})


def at_least(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> bool:
    """Whether `larger` is at least `smaller` in every type of the two."""
    larger, smaller = larger or {}, smaller or {}
    return all(larger.get(name, 0) >= smaller.get(name, 0) for name in larger.keys() | smaller)


def above(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> bool:
    """At least as much in every type, and more in one."""
    return at_least(larger, smaller) and not equal(larger or {}, smaller or {})


def at_least_existing(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> bool:
    """Whether `larger` is at least `smaller` in the types that both name; without one it is, unless it is empty.

    If `smaller` is empty, all amounts of `larger` must be above 0.
    """
    larger, smaller = larger or {}, smaller or {}
    if not smaller:
        return bool(larger) and all(amount > 0 for amount in larger.values())
    return bool(larger) and all(amount >= smaller[name] for name, amount in larger.items() if name in smaller)


def above_existing(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> bool:
    """Whether `at_least_existing` holds and, if they share types, `larger` has more of one of these."""
    larger, smaller = larger or {}, smaller or {}
    common = larger.keys() & smaller.keys()
    differs = not common or any(larger[name] != smaller[name] for name in common)
    return at_least_existing(larger, smaller) and differs


def fits(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> bool:
    """A type that the larger does not name is 0 there; below 0 counts as 0."""
    return all(amount <= max(0, (larger or {}).get(name, 0)) for name, amount in (smaller or {}).items())


def over_exactly(wanted: YuniKornAmounts, limit: YuniKornAmounts) -> list[str]:
    """The types in which `wanted` is over the limit; unlike in `over`, a negative limit is not raised to 0."""
    return sorted(name for name, amount in wanted.items() if name in limit and amount > limit[name])


# -- shares ------------------------------------------------------------------------------------------------------------


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
    left: YuniKornAmounts | None,
    right: YuniKornAmounts | None,
    whole: YuniKornAmounts | None,
    types: Collection[str] | None = None,
) -> int:
    return compared(shares(left, whole, types), shares(right, whole, types))


def fairness(left: YuniKornAmounts | None, right: YuniKornAmounts | None, whole: YuniKornAmounts | None) -> float:
    """The largest part of the left by that of the right; 1 where both are 0, infinite where only the right is."""
    mine, theirs = ((shares(side, whole) or [0.0])[-1] for side in (left, right))
    if theirs:
        return mine / theirs
    return 1.0 if not mine else float("inf") if mine > 0 else float("-inf")


def percent_used(capacity: YuniKornAmounts | None, used: YuniKornAmounts | None) -> dict[str, int]:
    """Whole percents of each type that both name; all of it where there is use and no capacity."""
    if capacity is None or used is None:
        return {}
    found = {}
    for name, size in capacity.items():
        if name in used:
            part = 0.0 if used[name] <= 0 else used[name] / size * 100 if size > 0 else 100.0
            found[name] = int(min(part, _MOST_PERCENT))
    return found


def dominant(used: YuniKornAmounts | None, capacity: YuniKornAmounts | None) -> str:
    """The type of which the largest part is used, empty where there is none; use without capacity is all of it."""
    parts: dict[str, float] = {}
    for name, amount in (used or {}).items():
        if name in (capacity or {}):
            size = (capacity or {})[name]
            parts[name] = amount / size if size else float(amount != 0)
    return max((name for name, part in parts.items() if part >= 0), key=lambda name: parts[name], default="")


def percent_matching(wanted: YuniKornAmounts | None, available: YuniKornAmounts | None) -> int:
    """How many of the wanted types are available, in whole percents."""
    if not wanted or available is None:
        return 0
    return sum(name in available for name in wanted) * 100 // len(wanted)


def misfit(larger: YuniKornAmounts | None, smaller: YuniKornAmounts | None) -> float:
    """0 where it fits, and one more at most for each type of which a part is missing."""
    lacks = 0.0
    for name, amount in (smaller or {}).items():
        if amount > 0:
            lacks += max(0, amount - max(0, (larger or {}).get(name, 0))) / amount
    return lacks


# -- preemption --------------------------------------------------------------------------------------------------------


class Level(NamedTuple):
    """A queue as preemption sees it. None means that there are no such amounts at all."""

    path: str
    allocated: YuniKornAmounts | None = None
    guaranteed: YuniKornAmounts | None = None
    preempting: YuniKornAmounts | None = None

    @property
    def used(self) -> YuniKornAmounts | None:
        """What is in use, without what is being preempted."""
        return minus_existing(self.allocated, self.preempting)

    @property
    def unused(self) -> YuniKornAmounts | None:
        """What the queue is guaranteed and does not use; below 0 where it uses more."""
        return minus_existing(self.guaranteed, self.used)


def preemptable(path: Sequence[Level]) -> YuniKornAmounts | None:
    """What the first queue uses above its guarantee, as far as the queues above it also exceed theirs.

    `path` has the queue first, then those above it. None where nothing is in use.
    """
    above: YuniKornAmounts | None = None
    for level in reversed(path):
        if not level.allocated:
            above = None
            continue
        beyond = minus_existing(level.used, level.guaranteed) or {}
        own = {name: amount for name, amount in beyond.items() if amount > 0}
        above = least_existing(own, above) if own else own
    return above


def remaining_guaranteed(path: Sequence[Level], asking: Sequence[Level] = ()) -> YuniKornAmounts | None:
    """What is left of the guarantee of the first queue, by type the least on its path; None without a guarantee.

    `asking` is the path of the queue that preempts, empty where there is none. The guarantee of that queue counts
    before those above it. Where it has one, the queues above it hold nothing against their children, so that siblings
    within the same guarantee are no longer protected by it.
    """
    asks = asking[0] if asking else None
    shared = {level.path for level in asking} if asks is not None and asks.unused else set()
    above: YuniKornAmounts | None = None
    for level in reversed(path):
        own = level.unused
        if not own and not above:
            above = None
        elif own and asks is not None and level.path == asks.path:
            above = filled(own, above)
        elif own and level.path in shared:
            above = None
        else:
            above = least(own, above)
    return above
