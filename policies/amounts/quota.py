"""Computes the quota of a node in a Kueue tree, without usage: its subtree quota, what it lends, and its potential.

Amounts are in the units of `policies.model.pools`, milli-CPU or whole units, by "flavor/resource". The forest keeps
sums, so each function takes time in proportion to the depth of the tree. The amounts of nodes on or below a cycle are
meaningless: call `Forest.ends_at_root` first.
Source: Kueue v0.19, pkg/cache/scheduler/resource_node.go; KEP-79.
"""

from __future__ import annotations

from typing import NamedTuple

from policies.dialects.kueue import KueueNode
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_POOL, NO_TERMS, UNLIMITED, Pool, Terms, local_quota, minus, plus, subtree_quota

MOST_NAMED = 3
"""The most nodes that a message names."""
_MOST_LOOKED_AT = 1000
"""The most nodes in which `givers` looks for quota, so that a message does not take long."""


class Potential(NamedTuple):
    """The most that a node could use if no node used any quota.

    `amount`: this number.
    `node`: the node whose limit decides.
    `limit`: the deciding limit: `borrowingLimit`, or `nominalQuota` if the quota of the whole tree decides (see
    `givers`).
    """

    amount: int
    node: Ref
    limit: str


def root_of(forest: Forest, ref: Ref) -> Ref:
    return (ref, *forest.ancestors(ref))[-1]


def terms(forest: Forest, ref: Ref, pair: str) -> Terms:
    """The quota and limits of the node itself; none for a Cohort without an object."""
    node = forest.node(ref)
    return node.terms_of(pair) if isinstance(node, KueueNode) else NO_TERMS


def below(forest: Forest, ref: Ref, pair: str) -> Pool:
    """The total over the node's children."""
    return forest.below(ref).pools.get(pair, NO_POOL)


def subtree(forest: Forest, ref: Ref, pair: str) -> int:
    """The subtree quota: the quota of a node and the quota that its children lend."""
    return subtree_quota(terms(forest, ref, pair), below(forest, ref, pair))


def lent(forest: Forest, ref: Ref, pair: str) -> int:
    """The subtree quota without the local quota: what the rest of the tree can use. Also computed for a root."""
    own = terms(forest, ref, pair)
    whole = subtree_quota(own, below(forest, ref, pair))
    return minus(whole, local_quota(own, whole))


def potential(forest: Forest, ref: Ref, pair: str, *, lifted: Ref | None = None) -> Potential:
    """The potential: the largest request that could ever fit. `lifted`: a node whose borrowingLimit is ignored."""
    root, *way = reversed((ref, *forest.ancestors(ref)))
    most = Potential(subtree(forest, root, pair), root, "nominalQuota")
    for node in way:
        own = terms(forest, node, pair)
        whole = subtree_quota(own, below(forest, node, pair))
        reach = plus(local_quota(own, whole), most.amount)
        most = Potential(reach, most.node, most.limit)
        if own.borrowing is not None and node != lifted:
            limit = plus(whole, own.borrowing)
            if limit < reach:
                most = Potential(limit, node, "borrowingLimit")
    return most


def givers(forest: Forest, ref: Ref, pair: str) -> tuple[Ref, ...]:
    """The nodes with nominalQuota that the node could use; empty if there are too many to name or to search."""
    way = (ref, *forest.ancestors(ref))
    found, looked_at, left = list[Ref](), 0, [way[-1]]
    while left:
        node = left.pop()
        looked_at += forest.count_children(node)
        if terms(forest, node, pair).nominal:
            found.append(node)
        if looked_at > _MOST_LOOKED_AT or len(found) > MOST_NAMED:
            return ()
        left += (child for child, share in forest.shares(node) if child in way or share.pools.get(pair, NO_POOL).lent)
    return tuple(sorted(found))


def on_offer(forest: Forest, ref: Ref, pair: str) -> int:
    """The most that the rest of the tree could lend to the node if no node used any quota; 0 for a root."""
    node = forest.node(ref)
    if node is None or node.parent is None:
        return 0
    most = potential(forest, node.parent, pair).amount
    return most if most == UNLIMITED else most - lent(forest, ref, pair)
