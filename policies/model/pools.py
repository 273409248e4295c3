"""The sums over a subtree of Kueue that its parent needs for one FlavorResource, and the arithmetic with them.

Amounts are integers as in Kueue: milli-CPU for cpu, whole units for all other resources, rounded up. UNLIMITED stands
for all amounts that do not fit a signed 64-bit integer. Source: Kueue v0.19, pkg/resources/amount.go,
pkg/cache/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policies.model.quantity import INT64_MAX, Format, Quantity

UNLIMITED = INT64_MAX
LEAST = -INT64_MAX - 1
"""The smallest amount."""
_CPU = "cpu"
_BYTES = ("memory", "ephemeral-storage")
_UNLIMITED_CPU = INT64_MAX // 1000 * 10**9
"""The number of nano-CPU from which milli-CPU would not fit 64 bits. Kueue has the same limit."""


class Terms(NamedTuple):
    """The quota and the limits in the spec of a node. None stands for no limit."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


class Pool(NamedTuple):
    """The amounts of one subtree for one FlavorResource, or their totals over siblings.

    `lent`: the quota that others may use.
    `taken`: the reserved quota that it takes from the quota of its parent, which includes its lent quota.
    `queues`: the number of ClusterQueues that list the FlavorResource.
    `smallest`, `largest`: the smallest and largest nominal quota above 0 of the siblings; 0 if there are none.
    """

    lent: int = 0
    taken: int = 0
    queues: int = 0
    smallest: int = 0
    largest: int = 0


NO_TERMS = Terms()
NO_POOL = Pool()
Pools = Mapping[str, Pool]
"""The pools of a node by "flavor/resource"."""


def count(resource: str, quantity: Quantity) -> int:
    """The amount as Kueue counts it; UNLIMITED if it would not fit 64 bits."""
    if resource == _CPU:
        return UNLIMITED if quantity.nano >= _UNLIMITED_CPU else _bounded(quantity.milli())
    return _bounded(quantity.units())


def amount_text(resource: str, amount: int) -> str:
    """The amount as users write it."""
    if amount == UNLIMITED:
        return "unlimited"
    unit = 1000 if resource == _CPU else 1
    if resource not in _BYTES and amount % unit == 0 and abs(amount) < 10**6 * unit:
        return str(amount // unit)  # 4000, not 4k, as users write cores and devices
    like: Format = "BinarySI" if resource in _BYTES else "DecimalSI"
    return str(Quantity.of_nano(amount * (10**6 if resource == _CPU else 10**9), like))


def plus(a: int, b: int) -> int:
    """a + b. UNLIMITED if one of them is, or if the sum does not fit 64 bits."""
    return UNLIMITED if UNLIMITED in (a, b) else _bounded(a + b)


def minus(a: int, b: int) -> int:
    """a - b. If both are UNLIMITED it is 0; if only `a` is, UNLIMITED."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    return LEAST if b == UNLIMITED else _bounded(a - b)


def _bounded(amount: int) -> int:
    """The amount within 64 bits. Comparisons are faster than calls of `max` and `min`, and this runs very often."""
    if LEAST <= amount <= UNLIMITED:
        return amount
    return UNLIMITED if amount > 0 else LEAST


def subtree_quota(terms: Terms, below: Pool) -> int:
    """The subtree quota: the node's own quota and the quota that its children lend."""
    return plus(terms.nominal, below.lent)


def local_quota(terms: Terms, subtree: int) -> int:
    """The local quota: the part of the subtree quota that only the subtree can use."""
    return 0 if terms.lending is None else max(0, minus(subtree, terms.lending))


def upward_share(terms: Terms, below: Pool, usage: int, queues: int) -> Pool:
    """The share of a node at its parent. `below`: the total over its children. `usage`: reserved in its subtree."""
    subtree = subtree_quota(terms, below)
    local = local_quota(terms, subtree)
    return Pool(minus(subtree, local), max(0, minus(usage, local)), queues, terms.nominal, terms.nominal)


def joined(shares: Iterable[Pools]) -> dict[str, Pool]:
    """The total over siblings. It runs for every change, so for speed it adds up columns, not pools."""
    together: dict[str, list[Pool]] = {}
    for pools in shares:
        for pair, pool in pools.items():
            together.setdefault(pair, []).append(pool)
    return {pair: pools[0] if len(pools) == 1 else _sum(pools) for pair, pools in together.items()}


def _sum(pools: list[Pool]) -> Pool:
    lent, taken, queues, smallest, largest = zip(*pools, strict=True)
    return Pool(
        min(sum(lent), UNLIMITED),
        min(sum(taken), UNLIMITED),
        sum(queues),
        min(filter(None, smallest), default=0),
        max(largest),
    )
