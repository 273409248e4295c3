"""The quota tree without some of its usage, beside the real tree during a cycle."""

from __future__ import annotations

from scheduling.objects.amounts import Usage
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree


class Alternative:
    """A tree that shares its nodes with the real one, except for copies of nodes that differ, and of their ancestors.

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
