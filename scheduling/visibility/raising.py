"""Finds limits to raise so that a request fits: of the ClusterQueue, its ancestors, and nodes that lend to it.

Raising any one of them is enough. Kueue's rules decide that. If a nominalQuota is raised by some amount, the node gets
the same amount more, and so do its ancestors up to the first lendingLimit. From an ancestor, the amount is available to
the ClusterQueue as far as the borrowingLimits on the path allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import NamedTuple

from policies.model.pools import NO_TERMS, UNLIMITED
from scheduling.objects.amounts import FlavorResource, minus, plus
from scheduling.quota.node import QuotaNode

NOMINAL_QUOTA, BORROWING_LIMIT = "nominalQuota", "borrowingLimit"
MOST_PLACES = 3
USUAL_DEPTH = 32
"""The usual number of levels of a tree. That many more nodes are collected, since those on the path are left out."""


@dataclass(frozen=True, slots=True)
class Raise:
    """A limit to raise. `now`: its current amount. `needed`: the amount with which the request fits."""

    node: str
    is_queue: bool
    limit: str
    now: int
    needed: int


class Lenders:
    """The nodes of a subtree with the most quota of a pair that they lend to the top. Results are cached."""

    def __init__(self) -> None:
        self._found: dict[tuple[QuotaNode, FlavorResource, int], list[QuotaNode]] = {}

    def of(self, top: QuotaNode, pair: FlavorResource, depth: int) -> list[QuotaNode]:
        """The largest lenders first: `MOST_PLACES` more than `depth`, if there are as many."""
        at = (top, pair, MOST_PLACES + max(depth, USUAL_DEPTH))
        if at not in self._found:
            self._found[at] = nsmallest(at[2], _lenders(top, pair), key=lambda each: (-each.nominal(pair), each.name))
        return self._found[at]


def raises(
    node: QuotaNode, pair: FlavorResource, wanted: int, lenders: Lenders | None = None, *, idle: bool = False
) -> tuple[Raise, ...]:
    """The limits that could be raised for a request of `wanted`, nearest node first.

    It costs the depth of the tree, and with `lenders` a pass over the tree.

    lenders: finds other nodes. Without it, only nodes on the path to the root are considered.
    idle: computed as if nothing were in use.
    """
    path = node.path()
    way = FreePath.of(path, pair, idle)
    lacking = minus(wanted, way.reach())
    if lacking <= 0:
        return ()
    found = [_nominal(node, pair, lacking), *_borrowing(path, pair, way, wanted, lacking)]
    seen = {*path}
    for at, here in enumerate(path[1:], start=1):
        if len(found) >= MOST_PLACES or way.reach(at, lacking) < wanted:
            break
        if here.nominal(pair):
            found.append(_nominal(here, pair, lacking))
        others = [each for each in lenders.of(here, pair, len(path)) if each not in seen] if lenders else []
        seen.update(others)
        found += [_nominal(each, pair, lacking) for each in others]
    return tuple(found[:MOST_PLACES])


class FreePath(NamedTuple):
    """A path from a node to its root, in amounts of one pair.

    local: for each node below the root, its free local quota.
    room: for each of these nodes, how much it may take from its parent.
    top: the free quota of the root.
    """

    local: tuple[int, ...]
    room: tuple[int, ...]
    top: int

    @classmethod
    def of(cls, path: Sequence[QuotaNode], pair: FlavorResource, idle: bool) -> FreePath:
        *below, root = path
        if idle:
            local = (each.local.get(pair, 0) for each in below)
            limits = ((each, each.terms.get(pair, NO_TERMS).borrowing) for each in below)
            room = (UNLIMITED if limit is None else plus(each.lent(pair), limit) for each, limit in limits)
            return cls(tuple(local), tuple(room), root.quota(pair))
        local, room = (each.local_free(pair) for each in below), (each.room(pair) for each in below)
        return cls(tuple(local), tuple(room), minus(root.quota(pair), root.used(pair)))

    def reach(self, at: int = -1, more: int = 0) -> int:
        """The amount that the first node can use, if node `at` had `more` quota."""
        free = self.top
        for here in reversed(range(len(self.local) + 1)):
            if here < len(self.local):
                free = plus(self.local[here], min(self.room[here], free))
            if here == at:
                free = plus(free, more)
        return free

    def wider(self, at: int, more: int) -> FreePath:
        """The same path with the borrowingLimit of node `at` raised by `more`."""
        return self._replace(room=(*self.room[:at], plus(self.room[at], more), *self.room[at + 1 :]))


def _nominal(node: QuotaNode, pair: FlavorResource, more: int) -> Raise:
    now = node.nominal(pair)
    return Raise(node.name, node.is_queue, NOMINAL_QUOTA, now, plus(now, more))


def _borrowing(path: list[QuotaNode], pair: FlavorResource, way: FreePath, wanted: int, more: int) -> Iterator[Raise]:
    """Yield the borrowingLimits of which raising one alone is enough."""
    for at, node in enumerate(path[:-1]):
        limit = node.terms.get(pair, NO_TERMS).borrowing
        if limit is not None and way.wider(at, more).reach() >= wanted:
            yield Raise(node.name, node.is_queue, BORROWING_LIMIT, limit, plus(limit, more))


def _lenders(top: QuotaNode, pair: FlavorResource) -> Iterator[QuotaNode]:
    """Yield the descendants with quota of their own that no lendingLimit up to `top` withholds."""
    stack = [top]
    while stack:
        here = stack.pop()
        for each in (*here.cohorts.values(), *here.queues.values()):
            if each.terms.get(pair, NO_TERMS).lending is None:
                if each.nominal(pair):
                    yield each
                if not each.is_queue:
                    stack.append(each)
