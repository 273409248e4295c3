"""Computes the totals over siblings that their parent needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policies.model.objects import SubtreeShare
from policies.model.pools import UNLIMITED, Pool, joined


def join(shares: Iterable[SubtreeShare]) -> SubtreeShare:
    """The total over siblings: sums of `nominal` and `kept`, maxima of `limit` and `height`, and joined `pools`."""
    shares = list(shares)
    nominal: dict[str, int] = {}
    kept: dict[str, int] = {}
    limit: dict[str, int] = {}
    height = 0
    for share in shares:
        for name, amount in share.nominal.items():
            nominal[name] = nominal.get(name, 0) + amount
        for name, amount in share.kept.items():
            kept[name] = kept.get(name, 0) + amount
        for name, amount in share.limit.items():
            if name not in limit or limit[name] < amount:
                limit[name] = amount
        height = max(height, share.height)
    return SubtreeShare(nominal, kept, limit, height, joined(share.pools for share in shares))


def exchanged(total: SubtreeShare, old: SubtreeShare, new: SubtreeShare) -> SubtreeShare | None:
    """The total after `old` was replaced by `new`; None if it cannot be computed without the other siblings.

    This is only possible for sums. A maximum may be that of `old`, and a name that only `old` has must be dropped.
    """
    if old.height != new.height or old.limit != new.limit:
        return None
    nominal, kept = _sums(total.nominal, old.nominal, new.nominal), _sums(total.kept, old.kept, new.kept)
    pools = _pools(total.pools, old.pools, new.pools)
    if nominal is None or kept is None or pools is None:
        return None
    return SubtreeShare(nominal, kept, total.limit, total.height, pools)


def _sums(total: Mapping[str, int], old: Mapping[str, int], new: Mapping[str, int]) -> Mapping[str, int] | None:
    if old == new:
        return total
    if old.keys() != new.keys():
        return None
    return {**total, **{name: total[name] + amount - old[name] for name, amount in new.items()}}


def _pools(total: Mapping[str, Pool], old: Mapping[str, Pool], new: Mapping[str, Pool]) -> Mapping[str, Pool] | None:
    if old == new:
        return total
    if old.keys() != new.keys():
        return None
    made = dict(total)
    for pair, after in new.items():
        if after != old[pair]:
            pool = _pool(total[pair], old[pair], after)
            if pool is None:
                return None
            made[pair] = pool
    return made


def _pool(total: Pool, old: Pool, new: Pool) -> Pool | None:
    lent, taken = total.lent + new.lent - old.lent, total.taken + new.taken - old.taken
    if UNLIMITED in total or max(lent, taken) >= UNLIMITED:
        return None  # a capped sum does not reveal its addends
    smallest, largest = _least(total.smallest, old.smallest, new.smallest), total.largest
    if new.largest != old.largest:
        if old.largest == largest > new.largest:
            return None
        largest = max(largest, new.largest)
    return None if smallest is None else Pool(lent, taken, total.queues + new.queues - old.queues, smallest, largest)


def _least(least: int, old: int, new: int) -> int | None:
    """The least amount above 0 after `old` was replaced by `new`; None if it depends on the other siblings."""
    if old == new:
        return least
    if old == least != 0:
        return new if 0 < new < least else None
    return min(filter(None, (least, new)), default=0)
