"""Finds the leaves with a waiting ask that the limits of the queues may allow.

A full subtree is not visited. A change in a leaf costs the depth of the tree and the logarithm of the number of
siblings on each level.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.model.trie import Trie
from scheduling.yunikorn.leaf_work import AskBounds, merged
from scheduling.yunikorn.ordered import Ordered
from scheduling.yunikorn.queue import YuniKornQueue

_INT32 = 2**31


class ReadyChildren:
    """For each queue, the children whose smallest waiting ask may fit their own limits, in the order of trying.

    Of two with equal priority and share, the one with the larger sum of waiting amounts comes first. YuniKorn orders
    them only if one waits for more of every resource.
    """

    def __init__(self) -> None:
        self._waiting: dict[YuniKornQueue, AskBounds] = {}  # bounds of waiting asks by leaf
        # by queue: bounds of its children that are shown
        self._below: dict[YuniKornQueue, Trie[str, AskBounds, AskBounds | None]] = {}
        self._order: dict[YuniKornQueue, Ordered[YuniKornQueue]] = {}  # by queue: these children, sorted
        self._shown: dict[YuniKornQueue, AskBounds] = {}  # bounds of each queue whose smallest ask may fit

    def put(self, leaf: YuniKornQueue, bounds: AskBounds | None) -> None:
        """Update the path of the leaf after a change of its waiting asks or of allocations."""
        if bounds is None:
            self._waiting.pop(leaf, None)
        else:
            self._waiting[leaf] = bounds
        self.refresh(leaf)

    def refresh(self, queue: YuniKornQueue) -> None:
        """Update the path of the queue after a change of its limits or of allocations."""
        for here in queue.up():
            below = self._below.get(here)
            found = self._waiting.get(here) or (below.total if below is not None else None)
            fits = found is not None and here.fits(found.least)
            self._show(here, found if fits else None)

    def drop(self, queue: YuniKornQueue) -> None:
        """Forget a queue that was removed. Nothing waits in it."""
        self._waiting.pop(queue, None)
        self._show(queue, None)
        self._below.pop(queue, None)
        self._order.pop(queue, None)

    def _show(self, queue: YuniKornQueue, bounds: AskBounds | None) -> None:
        above = queue.parent
        if bounds is None:
            if self._shown.pop(queue, None) is not None and above is not None:
                self._below[above] = self._below[above].drop(queue.name)
                self._order[above].drop(queue.name)
            return
        self._shown[queue] = bounds
        if above is None:
            return
        priority = _priority(queue, bounds.priority)
        below = self._below.get(above) or Trie(merged)
        self._below[above] = below.put(queue.name, AskBounds(bounds.least, priority))
        share, waiting = queue.share(), sum(queue.pending.values())
        by_priority = above.settings.properties.by_priority
        key = (-priority, share, -waiting) if by_priority else (share, -priority, -waiting)
        self._order.setdefault(above, Ordered()).put(queue.name, key, queue)

    def leaves(self, root: YuniKornQueue, closed: set[YuniKornQueue]) -> Iterator[YuniKornQueue]:
        """Yield the leaves where an ask may fit, in the order in which they are tried, without the `closed` ones."""
        if root not in self._shown:
            return
        stack = [iter([root])]
        path: list[YuniKornQueue] = []
        while stack:
            queue = next(stack[-1], None)
            if queue is None:
                stack.pop()
                if path:
                    path.pop()
                continue
            least = self._shown[queue].least
            if queue in closed or not all(above.fits(least) for above in path):
                continue
            if queue.is_leaf:
                yield queue
            else:
                path.append(queue)
                stack.append(iter(self._order[queue]))


def _priority(queue: YuniKornQueue, priority: int) -> int:
    """The priority of a queue's work as its parent sees it."""
    properties = queue.settings.properties
    if properties.priority_fence:
        return properties.priority_offset
    return max(-_INT32, min(priority + properties.priority_offset, _INT32 - 1))
