"""Which queue is served first: priority, then leaves before parents, then the lower share.

Source: Volcano v1.16, plugins/capacity, queueOrderFn and compareShareWithDeserved.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.volcano.queues import ALLOCATED, Node, QueueAccounts, share
from scheduling.volcano.resources import is_nothing

Standing = tuple[float, bool]
"""The share, and whether nothing is deserved; of equal shares, who deserves something comes first."""


class QueueOrder:
    """The order of queues that do not change, session after session. The share of a queue with children is that of the
    session's beginning."""

    def __init__(self, queues: QueueAccounts) -> None:
        self._queues = queues
        self._opening: dict[str, Standing] = {}
        self._leaves: dict[str, Standing] = {}
        self._ancestors: dict[str, list[Node]] = {}

    def compare(self, a: str, b: str) -> int:
        """Below 0: `a` is served first. Two leaves are compared by the shares of their first different ancestors."""
        left, right = self._queues.tree.nodes[a], self._queues.tree.nodes[b]
        if left.settings.priority != right.settings.priority:
            return right.settings.priority - left.settings.priority
        if bool(left.children) != bool(right.children):
            return 1 if left.children else -1
        if not left.children:
            left, right = _first_different(left, self.above(left), right, self.above(right))
        mine, others = self._standing(left), self._standing(right)
        return 0 if mine == others else -1 if mine < others else 1

    def begin(self) -> None:
        """A session begins."""
        self._opening.clear()

    def counts(self, node: Node) -> None:
        """What is allocated in the queue is about to change in this session."""
        for above in self.above(node):
            self._standing(above)
        self.changed(node)

    def changed(self, node: Node) -> None:
        """What is allocated in the queue has changed."""
        self._leaves.pop(node.name, None)

    def above(self, node: Node) -> list[Node]:
        """The root first, the parent last."""
        found = self._ancestors.get(node.name)
        if found is None:
            found = self._ancestors[node.name] = node.ancestors()
        return found

    def _standing(self, node: Node) -> Standing:
        """Computed once: of a leaf until its usage changes, of a queue with children for the whole session."""
        known = self._opening if node.children else self._leaves
        found = known.get(node.name)
        if found is None:
            deserved = self._queues.deserved(node)
            found = known[node.name] = share(deserved, node.amounts(ALLOCATED)), is_nothing(deserved)
        return found


def common_depth(a: Sequence[Node], b: Sequence[Node]) -> int:
    """How deep the deepest common one of these ancestors lies; root has depth 0. Without one it is 0 as well."""
    depth = 0
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if left is not right:
            break
        depth = i
    return depth


def _first_different(a: Node, above_a: Sequence[Node], b: Node, above_b: Sequence[Node]) -> tuple[Node, Node]:
    """The ancestors of both just below the deepest common one, or the queues themselves where they hang there."""
    depth = common_depth(above_a, above_b) + 1
    return (above_a[depth] if depth < len(above_a) else a), (above_b[depth] if depth < len(above_b) else b)
