"""The quota tree as it would be, had some usage gone already or never come: kept beside the tree through a cycle."""

from __future__ import annotations

from scheduling.objects.amounts import Usage
from scheduling.quota.node import QuotaNode
from scheduling.quota.tree import QuotaTree


class Alternative:
    """A node is copied when something is to differ at it or below it; until then it is as in the tree.

    So a change of the tree is entered here first. Shape and quota must stay as they are. What is entered costs the
    tree's depth, where trying it out for each question would cost all that was entered so far.
    """

    def __init__(self, tree: QuotaTree) -> None:
        self._tree = tree
        self._copies: dict[QuotaNode, QuotaNode] = {}

    def at(self, node: QuotaNode) -> QuotaNode:
        """The node as it would be."""
        return self._copied(node) if self._copies else node

    def add(self, node: QuotaNode, usage: Usage) -> None:
        """What is about to be added to the tree counts here as well."""
        if self._copies:
            self._tree.add(self._copied(node), usage)

    def miss(self, node: QuotaNode) -> None:
        """What is about to be added to the tree at this node does not count here."""
        self._copied(node)

    def remove(self, node: QuotaNode, usage: Usage) -> None:
        """What the tree keeps is gone here."""
        self._tree.remove(self._copied(node), usage)

    def _copied(self, node: QuotaNode) -> QuotaNode:
        copy = self._copies.get(node)
        if copy is None:
            copy = self._copies[node] = QuotaNode(node.name, node.is_queue)
            copy.terms, copy.subtree, copy.local = node.terms, node.subtree, node.local
            copy.usage = {**node.usage}
            copy.up = self._copied(node.up) if node.up is not None else None
        return copy
