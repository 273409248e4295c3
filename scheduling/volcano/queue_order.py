"""The order in which queues are served: by priority, then leaves before parents, then by the lower share.

Source: Volcano v1.16, plugins/capacity, queueOrderFn and compareShareWithDeserved.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduling.volcano.queues import ALLOCATED, Node, QueueAccounts, share
from scheduling.volcano.resources import is_nothing

Standing = tuple[float, bool]
"""The sort key of a queue: its share, and whether it deserves nothing. Such a queue comes after equal shares."""


class QueueOrder:
    """The order of queues, for as long as their settings do not change.

    In a session, a parent queue keeps the share that it had at the beginning.
    """

    def __init__(self, queues: QueueAccounts) -> None:
        self._queues = queues
        self._opening: dict[str, Standing] = {}  # sort keys of parents at the beginning of the session
        self._leaves: dict[str, Standing] = {}  # sort keys of leaves
        self._ancestors: dict[str, list[Node]] = {}  # ancestors by queue, root first

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
        """Begin a session: shares of parent queues are computed again."""
        self._opening.clear()

    def counts(self, node: Node) -> None:
        """Call it before the allocated amount of the queue changes in a session: it keeps the shares of all parents."""
        for above in self.above(node):
            self._standing(above)
        self.changed(node)

    def changed(self, node: Node) -> None:
        """Call it when the allocated amount of the queue has changed outside of a session."""
        self._leaves.pop(node.name, None)

    def above(self, node: Node) -> list[Node]:
        """The ancestors of the queue, root first."""
        found = self._ancestors.get(node.name)
        if found is None:
            found = self._ancestors[node.name] = node.ancestors()
        return found

    def _standing(self, node: Node) -> Standing:
        """The sort key, computed once: for a leaf until its usage changes, for a parent for the whole session."""
        known = self._opening if node.children else self._leaves
        found = known.get(node.name)
        if found is None:
            deserved = self._queues.deserved(node)
            found = known[node.name] = share(deserved, node.amounts(ALLOCATED)), is_nothing(deserved)
        return found


def common_depth(a: Sequence[Node], b: Sequence[Node]) -> int:
    """The depth of the deepest common ancestor in these paths from root. Root has depth 0; 0 also if there is none."""
    depth = 0
    for i, (left, right) in enumerate(zip(a, b, strict=False)):
        if left is not right:
            break
        depth = i
    return depth


def _first_different(a: Node, above_a: Sequence[Node], b: Node, above_b: Sequence[Node]) -> tuple[Node, Node]:
    """The two different queues just below the deepest common ancestor, on the paths to `a` and `b`."""
    depth = common_depth(above_a, above_b) + 1
    return (above_a[depth] if depth < len(above_a) else a), (above_b[depth] if depth < len(above_b) else b)
