"""Whether a tree of queues is stopped as a whole, because the children of a queue are promised more than it has."""

from __future__ import annotations

from reconciler.controllers.volcano.gate_kinds import GATED_QUEUE
from reconciler.objects.observed import Observed
from scheduling.volcano.gates.sums import broken_sum
from scheduling.volcano.queues import QueueAccounts


class TreeSums:
    """The amounts of all queues.

    `root_from_nodes`: whether the capability of root is the sum of the Nodes. Then root's sums are not checked.
    """

    def __init__(self, *, root_from_nodes: bool) -> None:
        self._root_from_nodes = root_from_nodes
        self._queues = QueueAccounts(nodes=False)
        self._outdated = False
        self.broken = ""
        """The first queue that has less than its children are promised, with the amounts; empty if there is none."""

    def observe(self, observed: Observed[object]) -> None:
        name, queue = observed.key[1], GATED_QUEUE.value(observed)
        before = self._queues.get(name)
        if queue is not None and (before is None or before.settings != queue.settings):
            self._queues.put(queue.settings)
            self._outdated = True
        elif queue is None and before is not None:
            self._queues.drop(name)
            self._outdated = True

    def changed(self) -> bool:
        """Check the sums again. Returns whether `broken` has changed."""
        if not self._outdated:
            return False
        self._outdated = False
        wrong = broken_sum(self._queues, root_from_nodes=self._root_from_nodes)
        before, self.broken = self.broken, f"queue {wrong[0]}: {wrong[1]}" if wrong is not None else ""
        return self.broken != before
