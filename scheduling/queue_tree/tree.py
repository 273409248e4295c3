"""A mutable tree of queues, which are added, removed and moved in any order. A change costs the depth of the tree."""

from __future__ import annotations

from typing import Generic, TypeVar

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.node import DeclaredAmounts, QueueNode

S = TypeVar("S")


class QueueTree(Generic[S]):
    """All queues by name. A child may be added before its parent, and stays when its parent is removed.

    strays: the queues whose named parent is missing or would close a cycle.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, QueueNode[S]] = {}
        self.strays: dict[str, QueueNode[S]] = {}
        self._named: dict[str, dict[str, QueueNode[S]]] = {}  # queues by the name of their parent, which may not exist

    def __len__(self) -> int:
        return len(self.nodes)

    def get(self, name: str) -> QueueNode[S] | None:
        return self.nodes.get(name)

    def put(self, name: str, above: str | None, settings: S, declared: DeclaredAmounts) -> QueueNode[S]:
        """Add a queue, or change its parent, settings and declared amounts. Its usage stays."""
        node = self.nodes.get(name)
        if node is None:
            node = self.nodes[name] = QueueNode(name, settings)
        elif node.above == above:
            node.settings = settings
            self._declare(node, declared)
            return node
        else:
            self._forget_parent(node)
        node.settings, node.declared = settings, declared
        self._set_parent_name(node, above)
        for stray in [node, *self._named.get(name, {}).values(), *self._cycle_closers()]:
            self._attach(stray)
        return node

    def drop(self, name: str) -> None:
        """Remove a queue. Its children stay, without a parent. Raises KeyError if it does not exist."""
        node = self.nodes.pop(name)
        self._forget_parent(node)
        for child in [*node.children.values()]:
            self._detach(child)
        for stray in [*self._named.get(name, {}).values(), *self._cycle_closers()]:
            self._attach(stray)

    # --- edges

    def _set_parent_name(self, node: QueueNode[S], above: str | None) -> None:
        node.above = above
        if above is not None:
            self._named.setdefault(above, {})[node.name] = node

    def _forget_parent(self, node: QueueNode[S]) -> None:
        self._detach(node)
        self.strays.pop(node.name, None)
        node.on_cycle = False
        if node.above is not None:
            named = self._named[node.above]
            del named[node.name]
            if not named:
                del self._named[node.above]

    def _attach(self, node: QueueNode[S]) -> None:
        """Attach the queue to its parent, if the parent exists and no cycle would be closed."""
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
        self._add_to_ancestors(node, 1)
        self._count_declared(node, 1)

    def _detach(self, node: QueueNode[S]) -> None:
        if node.parent is None:
            return
        self._add_to_ancestors(node, -1)
        self._count_declared(node, -1)
        del node.parent.children[node.name]
        node.parent = None

    def _cycle_closers(self) -> list[QueueNode[S]]:
        """The queues that would close a cycle. They may be attached after another edge was removed."""
        return [stray for stray in self.strays.values() if stray.on_cycle]

    # --- sums

    def _add_to_ancestors(self, node: QueueNode[S], times: int) -> None:
        """Add the usage of the queue to all ancestors; with `times` -1, subtract it."""
        assert node.parent is not None
        for account, amounts in node.accounts.items():
            node.parent.add(account, amounts, times)

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
