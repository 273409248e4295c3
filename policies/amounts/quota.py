"""The quota of a node of a Kueue tree, without regard to usage: its subtree quota, what it lends, and its potential.

Amounts are those of `policies.model.pools`: milli-CPU or whole units, by "flavor/resource". Each answer costs the depth
of the tree, since the forest keeps the sums. On or below a cycle the amounts are meaningless: call `countable` first.
Source: Kueue v0.19, pkg/cache/scheduler/resource_node.go; KEP-79.
"""

from __future__ import annotations

from typing import NamedTuple

from policies.dialects.kueue import KueueNode
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.model.pools import NO_POOL, NO_TERMS, UNLIMITED, Pool, Terms, local_quota, minus, plus, subtree_quota

MOST_NAMED = 3
"""Nodes; a message that names more is not read."""
_MOST_LOOKED_AT = 1000
"""The most nodes that are searched for those with quota. It bounds the costs of a message."""


class Potential(NamedTuple):
    """The most that a subtree could hold if nothing were in use.

    `node`: the node whose limit decides.
    `limit`: `borrowingLimit`; or `nominalQuota` if the node is the root, and the quota of the tree decides (`givers`).
    """

    amount: int
    node: Ref
    limit: str


def countable(forest: Forest, ref: Ref) -> bool:
    """Whether the node has a root, so is neither on a cycle nor below one."""
    return forest.ends_at_root(ref)


def root_of(forest: Forest, ref: Ref) -> Ref:
    return (ref, *forest.ancestors(ref))[-1]


def terms(forest: Forest, ref: Ref, pair: str) -> Terms:
    """The node's own numbers; a Cohort without an object has none."""
    node = forest.node(ref)
    return node.terms_of(pair) if isinstance(node, KueueNode) else NO_TERMS


def below(forest: Forest, ref: Ref, pair: str) -> Pool:
    """The total over the children."""
    return forest.below(ref).pools.get(pair, NO_POOL)


def subtree(forest: Forest, ref: Ref, pair: str) -> int:
    """S: the quota of a node and the quota that its children lend."""
    return subtree_quota(terms(forest, ref, pair), below(forest, ref, pair))


def lent(forest: Forest, ref: Ref, pair: str) -> int:
    """S - lq: the part of the quota that the rest of the tree can use. A root has it too, although it lends nothing."""
    own = terms(forest, ref, pair)
    whole = subtree_quota(own, below(forest, ref, pair))
    return minus(whole, local_quota(own, whole))


def potential(forest: Forest, ref: Ref, pair: str, *, lifted: Ref | None = None) -> Potential:
    """pot: the largest request that could ever fit.

    `lifted`: a node whose borrowingLimit is ignored.
    """
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
    """The nodes whose nominalQuota the node could use; empty if there are too many to name or to search."""
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
    """The most that the rest of the tree could lend to the node if nothing were in use; 0 for a root."""
    node = forest.node(ref)
    if node is None or node.parent is None:
        return 0
    most = potential(forest, node.parent, pair).amount
    return most if most == UNLIMITED else most - lent(forest, ref, pair)


def reserved(forest: Forest, ref: Ref, pair: str) -> int:
    """U of a Cohort: the quota of it and its ancestors that workloads below it reserve, by the status of the queues."""
    return below(forest, ref, pair).taken
