"""Queues that come, go and move in any order: one mutable structure. A change costs the tree's depth."""

from __future__ import annotations

from typing import Generic, TypeVar

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts
from scheduling.queue_tree.node import DeclaredAmounts, QueueNode

S = TypeVar("S")


class QueueTree(Generic[S]):
    """All queues by name. A child may come before its parent, and stays when its parent goes.

    `strays` are the queues that name a parent and have none.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, QueueNode[S]] = {}
        self.strays: dict[str, QueueNode[S]] = {}
        self._named: dict[str, dict[str, QueueNode[S]]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def get(self, name: str) -> QueueNode[S] | None:
        return self.nodes.get(name)

    def put(self, name: str, above: str | None, settings: S, declared: DeclaredAmounts) -> QueueNode[S]:
        """Add a queue, or change it: its parent, its settings, what it declares. Its usage stays."""
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = QueueNode(name, settings)
        elif node.above == above:
            node.settings = settings
            self._declare(node, declared)
            return node
        else:
            self._leave(node)
        node.settings, node.declared = settings, declared
        self._name(node, above)
        for stray in [node, *self._named.get(name, {}).values(), *self._circular()]:
            self._hang(stray)
        return node

    def drop(self, name: str) -> None:
        """Remove a queue; its children stay, without a parent. Raises KeyError if there is none."""
        node = self.nodes.pop(name)
        self._leave(node)
        for child in [*node.children.values()]:
            self._unhang(child)
        for stray in [*self._named.get(name, {}).values(), *self._circular()]:
            self._hang(stray)

    def add(self, node: QueueNode[S], account: str, amounts: Amounts, times: int = 1) -> None:
        """Add to the account of the queue and of all above it; times -1 takes back."""
        node.add(account, amounts, times)

    # --- edges

    def _name(self, node: QueueNode[S], above: str | None) -> None:
        node.above = above
        if above is not None:
            self._named.setdefault(above, {})[node.name] = node

    def _leave(self, node: QueueNode[S]) -> None:
        """Away from its parent, in deed and in name."""
        self._unhang(node)
        self.strays.pop(node.name, None)
        node.on_cycle = False
        if node.above is not None:
            named = self._named[node.above]
            del named[node.name]
            if not named:
                del self._named[node.above]

    def _hang(self, node: QueueNode[S]) -> None:
        """Below its parent, if there is one; the queue that would close a cycle stays without."""
        if node.parent is not None or node.above is None:
            return
        parent = self.nodes.get(node.above)
        node.on_cycle = parent is not None and any(here is node for here in parent.up())
        if parent is None or node.on_cycle:
            self.strays[node.name] = node
            return
        self.strays.pop(node.name, None)
        node.parent = parent
        parent.children[node.name] = node
        self._carry(node, 1)
        self._count_declared(node, 1)

    def _unhang(self, node: QueueNode[S]) -> None:
        if node.parent is None:
            return
        self._carry(node, -1)
        self._count_declared(node, -1)
        del node.parent.children[node.name]
        node.parent = None

    def _circular(self) -> list[QueueNode[S]]:
        """The queues that would close a cycle; an edge that goes may free them."""
        return [stray for stray in self.strays.values() if stray.on_cycle]

    # --- sums

    def _carry(self, node: QueueNode[S], times: int) -> None:
        """Add what the queue uses to all above it, or take it back."""
        assert node.parent is not None
        for account, amounts in node.accounts.items():
            self.add(node.parent, account, amounts, times)

    def _declare(self, node: QueueNode[S], declared: DeclaredAmounts) -> None:
        if node.parent is not None:
            self._count_declared(node, -1)
        node.declared = declared
        if node.parent is not None:
            self._count_declared(node, 1)

    def _count_declared(self, node: QueueNode[S], times: int) -> None:
        assert node.parent is not None
        for account, amounts in node.declared.items():
            add_to(node.parent.below.setdefault(account, {}), amounts, times)
