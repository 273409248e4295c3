"""Kueue's quota tree with its usage: how much each node uses, borrows and has free.

The tree is mutable. A change of a node, an edge or a workload costs the depth of the tree. A simulation writes into the
same tree, and an undo log reverts it, so nothing is copied. For amounts, S, U and lq see `scheduling.quota.node`.
Source: Kueue v0.19, pkg/cache/scheduler/resource_node.go; KEP-79.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from policies.model.pools import UNLIMITED, Terms
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import UNIT_WEIGHT
from scheduling.quota.node import QuotaNode

__all__ = ["QuotaNode", "QuotaTree"]

_BEYOND = 1 << 80
"""The amount that an unlimited child adds to the sum over children. It is larger than any sum of finite children, and
can be subtracted again. Sums of 2^63-1 and more are read as UNLIMITED."""


class QuotaTree:
    """All trees of a cluster. Every change keeps all sums up to date.

    reshaped: the former roots of nodes that moved. Its only reader, `PendingQueues`, clears it.
    """

    def __init__(self) -> None:
        self.queues: dict[str, QuotaNode] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        # the undo log of the current simulation: node, pair and former usage
        self._log: list[tuple[QuotaNode, FlavorResource, int]] = []
        self._simulations = 0
        self.reshaped: set[QuotaNode] = set()

    def put_queue(
        self, name: str, cohort: str | None, terms: Mapping[FlavorResource, Terms], weight: int = UNIT_WEIGHT
    ) -> None:
        """Add a ClusterQueue, or change its quota, weight or Cohort. Its usage stays."""
        node = self.queues.get(name) or self.queues.setdefault(name, QuotaNode(name, is_queue=True))
        self._put(node, cohort, terms, weight)

    def put_cohort(
        self, name: str, parent: str | None, terms: Mapping[FlavorResource, Terms], weight: int = UNIT_WEIGHT
    ) -> None:
        """Add or change an explicit Cohort. An unknown parent is created as an implicit Cohort."""
        self._put(self._cohort(name), parent, terms, weight)

    def drop_queue(self, name: str) -> None:
        """Remove the ClusterQueue. Raises KeyError if it does not exist."""
        node = self.queues[name]
        self._move(node, None)
        del self.queues[name]

    def drop_cohort(self, name: str) -> None:
        """Remove an explicit Cohort.

        If it has children, it stays as an implicit one, without quota, limits and parent.
        """
        node = self.cohorts.get(name)
        if node is None or not node.explicit:
            return
        self._set_terms(node, {})
        self._move(node, None)
        node.explicit, node.weight = False, UNIT_WEIGHT
        self._forget(node)

    def add(self, node: QuotaNode, usage: Usage) -> None:
        """Count `usage` at the node, and at its ancestors the part beyond local quota."""
        for pair, amount in usage.items():
            here: QuotaNode | None = node
            while here is not None and amount:
                used, kept = here.usage.get(pair, 0), here.local_free(pair) if pair in here.local else 0
                self._write(here, pair, used, used + amount)
                here, amount = here.up, max(0, amount - kept)

    def remove(self, node: QuotaNode, usage: Usage) -> None:
        """Subtract usage that `add` counted."""
        for pair, amount in usage.items():
            here: QuotaNode | None = node
            while here is not None and amount:
                used = here.usage.get(pair, 0)
                taken = max(0, used - here.local.get(pair, 0))
                self._write(here, pair, used, used - amount)
                here, amount = here.up, min(amount, taken)

    @contextmanager
    def simulation(self) -> Iterator[None]:
        """A context at whose end all changes of usage are undone. Contexts nest. Nodes and edges must not change."""
        restore_point = len(self._log)
        self._simulations += 1
        try:
            yield
        finally:
            self._simulations -= 1
            while len(self._log) > restore_point:
                node, pair, before = self._log.pop()
                self._set_usage(node, pair, node.usage[pair], before)

    def broken(self, node: QuotaNode) -> list[QuotaNode]:
        """The cycle that the path from the node enters, starting with the first node on it; empty if there is none."""
        here: QuotaNode | None = node
        while here is not None and not here.on_cycle:
            here = here.parent
        return [] if here is None else _loop(here)

    # --- nodes and edges

    def _cohort(self, name: str) -> QuotaNode:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = QuotaNode(name, is_queue=False)
        return node

    def _put(self, node: QuotaNode, parent: str | None, terms: Mapping[FlavorResource, Terms], weight: int) -> None:
        node.explicit, node.weight = True, weight
        self._set_terms(node, terms)
        above = self._cohort(parent) if parent else None
        if above is not node.parent:
            self._move(node, above)

    def _move(self, node: QuotaNode, parent: QuotaNode | None) -> None:
        """Move the node with its descendants under `parent`. This may close or open a cycle."""
        freed = _loop(node) if node.on_cycle else []
        self.reshaped.update((node.root, *freed))
        old = node.parent
        self._detach(node)
        if old is not None:
            del _children(old, node)[node.name]
            _lower(old)
        node.parent = parent
        if parent is not None:
            _children(parent, node)[node.name] = node
            _lower(parent)
        for member in freed:
            member.on_cycle = False
        for member in _loop(node):
            self._detach(member)
            member.on_cycle = True
        for member in (node, *freed):
            if not member.on_cycle:
                self._attach(member)
        if old is not None:
            self._forget(old)

    def _forget(self, cohort: QuotaNode) -> None:
        """Remove an implicit Cohort without children."""
        if not cohort.explicit and not cohort.queues and not cohort.cohorts:
            self.cohorts.pop(cohort.name, None)

    def _attach(self, node: QuotaNode) -> None:
        if node.up is None and node.parent is not None:
            node.up = node.parent
            for pair in node.pairs():
                self._settle(node, pair, 0, 0)

    def _detach(self, node: QuotaNode) -> None:
        above, node.up = node.up, None
        if above is None:
            return
        for pair in node.pairs():
            above.borrowers.get(pair, {}).pop(node, None)
            lent, taken = _summand(above.lent(pair)), above.taken(pair)
            _hand(above, pair, -_summand(node.lent(pair)), -node.taken(pair))
            self._settle(above, pair, lent, taken)

    # --- sums

    def _set_terms(self, node: QuotaNode, terms: Mapping[FlavorResource, Terms]) -> None:
        before, node.terms = node.terms, terms
        for pair in {*before, *terms}:
            if before.get(pair) != terms.get(pair):
                lent, taken = node.lent(pair), node.taken(pair)
                node.resettle(pair)
                self._settle(node, pair, _summand(lent), taken)

    def _settle(self, node: QuotaNode, pair: FlavorResource, lent: int, taken: int) -> None:
        """Update the ancestors.

        lent, taken: the amounts that the node had added to its parent before the change.
        """
        while node.up is not None:
            self._note_borrower(node, pair)
            lent_more, taken_more = _summand(node.lent(pair)) - lent, node.taken(pair) - taken
            if not lent_more and not taken_more and pair in node.up.subtree:
                return  # otherwise the parent does not have the pair yet, and all ancestors need it
            node = node.up
            lent, taken = _summand(node.lent(pair)), node.taken(pair)
            _hand(node, pair, lent_more, taken_more)

    # --- usage

    def _write(self, node: QuotaNode, pair: FlavorResource, before: int, amount: int) -> None:
        if self._simulations:
            self._log.append((node, pair, before))
        self._set_usage(node, pair, before, amount)

    def _set_usage(self, node: QuotaNode, pair: FlavorResource, before: int, amount: int) -> None:
        quota = node.subtree.get(pair, 0)
        node.usage[pair] = amount
        if (before > quota) != (amount > quota):
            self._note_borrower(node, pair)

    def _note_borrower(self, node: QuotaNode, pair: FlavorResource) -> None:
        if node.up is None:
            return
        if node.borrows(pair):
            node.up.borrowers.setdefault(pair, {})[node] = None
        elif pair in node.up.borrowers:
            node.up.borrowers[pair].pop(node, None)


def _children(parent: QuotaNode, node: QuotaNode) -> dict[str, QuotaNode]:
    return parent.queues if node.is_queue else parent.cohorts


def _loop(node: QuotaNode) -> list[QuotaNode]:
    """The cycle that the node is on, the node first; empty if it is on none."""
    loop, here = [node], node.parent
    visited = {node}
    while here is not None and here not in visited:
        visited.add(here)
        loop.append(here)
        here = here.parent
    return loop if here is node else []


def _lower(cohort: QuotaNode) -> None:
    """Invalidate the heights of the nodes above a changed edge."""
    here: QuotaNode | None = cohort
    while here is not None and here.tops_out is not None:
        here.tops_out = None
        here = here.parent


def _summand(amount: int) -> int:
    return _BEYOND if amount == UNLIMITED else amount


def _hand(node: QuotaNode, pair: FlavorResource, lent_more: int, taken_more: int) -> None:
    """Add to the node's sums over its children."""
    node.lent_below[pair] = node.lent_below.get(pair, 0) + lent_more
    node.usage[pair] = node.used(pair) + taken_more
    node.resettle(pair)


class Alternative:
    """The tree without some of its usage. It shares its nodes with the real one, except for those that differ.

    A change has to be entered here before the real tree gets it. Edges and quota must not change. An entry costs the
    depth of the tree. A simulation for each query would repeat all entries.
    """

    def __init__(self, tree: QuotaTree) -> None:
        self._tree = tree
        self._copies: dict[QuotaNode, QuotaNode] = {}  # the copies of nodes that differ

    def at(self, node: QuotaNode) -> QuotaNode:
        return self._copied(node) if self._copies else node

    def add(self, node: QuotaNode, usage: Usage) -> None:
        """Count usage that will be added to the real tree, too."""
        if self._copies:
            self._tree.add(self._copied(node), usage)

    def miss(self, node: QuotaNode) -> None:
        """Do not count the usage that will be added to the real tree at this node."""
        self._copied(node)

    def remove(self, node: QuotaNode, usage: Usage) -> None:
        """Remove usage that the real tree keeps."""
        self._tree.remove(self._copied(node), usage)

    def _copied(self, node: QuotaNode) -> QuotaNode:
        copy = self._copies.get(node)
        if copy is None:
            copy = self._copies[node] = QuotaNode(node.name, node.is_queue)
            copy.terms, copy.subtree, copy.local = node.terms, node.subtree, node.local
            copy.usage = {**node.usage}
            copy.up = self._copied(node.up) if node.up is not None else None
        return copy
