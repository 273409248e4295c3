"""The quota tree as it would be without some of its usage; kept beside the real tree during a cycle."""

from __future__ import annotations

from scheduling.objects.amounts import Usage
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree


class Alternative:
    """Copies a node when it, or a node below it, shall differ; all other nodes are those of the tree.

    So enter a change here before it goes into the tree. Edges and quota must not change. An entry costs the tree's
    depth; a simulation for each query would cost all entries made so far.
    """

    def __init__(self, tree: QuotaTree) -> None:
        self._tree = tree
        self._copies: dict[QuotaNode, QuotaNode] = {}

    def at(self, node: QuotaNode) -> QuotaNode:
        """The node as it would be."""
        return self._copied(node) if self._copies else node

    def add(self, node: QuotaNode, usage: Usage) -> None:
        """Count usage here that is about to be added to the tree."""
        if self._copies:
            self._tree.add(self._copied(node), usage)

    def miss(self, node: QuotaNode) -> None:
        """Do not count here what is about to be added to the tree at this node."""
        self._copied(node)

    def remove(self, node: QuotaNode, usage: Usage) -> None:
        """Remove usage here that the tree keeps."""
        self._tree.remove(self._copied(node), usage)

    def _copied(self, node: QuotaNode) -> QuotaNode:
        copy = self._copies.get(node)
        if copy is None:
            copy = self._copies[node] = QuotaNode(node.name, node.is_queue)
            copy.terms, copy.subtree, copy.local = node.terms, node.subtree, node.local
            copy.usage = {**node.usage}
            copy.up = self._copied(node.up) if node.up is not None else None
        return copy
