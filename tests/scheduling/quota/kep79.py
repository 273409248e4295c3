"""KEP-79's own rule for quota in a tree, beside the arithmetic that Kueue uses, to show how the two relate.

The engine does not decide by it. Where no node on the way up is in debt the two agree; Kueue admits more where one is.
Source: KEP-79, Design Details; the seed's T(x, r).
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.model.pools import NO_TERMS
from scheduling.objects.amounts import FlavorResource
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree


def balance(node: QuotaNode, pair: FlavorResource) -> int:
    """T(x, r): what the subtree of the node can give to the rest of its tree; negative where it borrows.

    Worked out from the queues up, each child giving no more than its lendingLimit. In base units. The node must not be
    under a cycle. Source: KEP-79.
    """
    balances: dict[QuotaNode, int] = {}
    for each in _children_first(node):
        if each.is_queue:
            balances[each] = each.nominal(pair) - each.used(pair)
            continue
        given = (_given(child, pair, balances[child]) for child in (*each.queues.values(), *each.cohorts.values()))
        balances[each] = each.nominal(pair) + sum(given)
    return balances[node]


def in_debt(node: QuotaNode, pair: FlavorResource) -> bool:
    """Whether the subtree of the node borrows more than it may: T(y, r) < -borrowingLimit, which is 0 for a root."""
    limit = 0 if node.up is None else node.terms.get(pair, NO_TERMS).borrowing
    return limit is not None and balance(node, pair) < -limit


def would_admit(tree: QuotaTree, queue: QuotaNode, pair: FlavorResource, amount: int) -> bool:
    """KEP-79 to the letter: no node of the tree may be in debt once so much more is in use."""
    with tree.simulation():
        tree.add(queue, {pair: amount})
        return not any(in_debt(node, pair) for node in _children_first(queue.root))


def _given(child: QuotaNode, pair: FlavorResource, found: int) -> int:
    lending = child.terms.get(pair, NO_TERMS).lending
    return found if lending is None else min(lending, found)


def _children_first(node: QuotaNode) -> Iterator[QuotaNode]:
    found, stack = [], [node]
    while stack:
        here = stack.pop()
        found.append(here)
        stack.extend(here.cohorts.values())
        stack.extend(here.queues.values())
    return reversed(found)
