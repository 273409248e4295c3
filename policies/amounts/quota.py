"""What quota a node of a Kueue tree has, whatever is in use: subtree quota, what it lends, what it could ever hold.

Amounts are those of `policies.model.pools`: milli-CPU or whole units, by "flavor/resource". Each answer costs the depth
of the tree, since the forest keeps the sums. No number means anything on or below a cycle: ask `countable` first.
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
"""Nodes; a larger tree is not searched for the few that have quota, which bounds what a message costs."""


class Potential(NamedTuple):
    """The most that a subtree could hold if nothing were in use, and the node whose limit decides.

    `limit` is that node's `borrowingLimit`, or `nominalQuota` where it is the root and there is no more to be had: the
    quota is that of `givers`.
    """

    amount: int
    node: Ref
    limit: str


def countable(forest: Forest, ref: Ref) -> bool:
    """Whether the way up from the node ends at a root."""
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
    """S: the quota of a node and what its children lend."""
    return subtree_quota(terms(forest, ref, pair), below(forest, ref, pair))


def lent(forest: Forest, ref: Ref, pair: str) -> int:
    """S - lq: the part that the rest of the tree can use; of a root too, though there is nobody above it."""
    own = terms(forest, ref, pair)
    whole = subtree_quota(own, below(forest, ref, pair))
    return minus(whole, local_quota(own, whole))


def potential(forest: Forest, ref: Ref, pair: str, *, lifted: Ref | None = None) -> Potential:
    """pot: what a request must not exceed if it is ever to fit; as if the node `lifted` had no borrowingLimit."""
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
    """The nodes whose nominalQuota the node could use; empty where they are too many to name, or to look for."""
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
    """What the rest of the tree could give to the node at most, were nothing in use; 0 for a root."""
    node = forest.node(ref)
    if node is None or node.parent is None:
        return 0
    most = potential(forest, node.parent, pair).amount
    return most if most == UNLIMITED else most - lent(forest, ref, pair)


def reserved(forest: Forest, ref: Ref, pair: str) -> int:
    """U of an inner node: what the workloads below hold of it and of those above, by the status of the queues."""
    return below(forest, ref, pair).taken
