"""The waiting asks of the leaves, and which leaves have one that the limits of the queues may allow.

A full subtree is not visited. A change in a leaf costs the depth of the tree and the logarithm of the number of
siblings on each level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from policies.dialects.yunikorn_config.shares import shares
from policies.model.trie import Trie
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.ordered import Ordered
from scheduling.yunikorn.properties import FAIR, Properties
from scheduling.yunikorn.queue import YuniKornQueue

_INT32 = 2**31
AskShape = frozenset[tuple[str, int]]
"""The amounts of an ask. If an ask does not fit, no ask with the same shape fits."""


class AskBounds(NamedTuple):
    """Bounds of the asks that wait in a subtree: the smallest amount of each type, and the highest priority."""

    least: YuniKornAmounts
    priority: int


def merged(every: Any) -> AskBounds | None:
    """The bounds of several subtrees together; None if nothing waits in any of them."""
    found = [bounds for bounds in every if bounds is not None]
    if not found:
        return None
    least = dict(found[0].least)
    for bounds in found[1:]:
        least = {name: min(amount, bounds.least[name]) for name, amount in least.items() if name in bounds.least}
    return AskBounds(least, max(bounds.priority for bounds in found))


class LeafWork:
    """The waiting asks of a leaf. `applications`: those with an ask to try, in order. `shapes`: by key of the ask."""

    def __init__(self, leaf: YuniKornQueue) -> None:
        self.leaf = leaf
        self.applications: Ordered[Application] = Ordered()
        self.shapes: dict[str, AskShape] = {}
        self._amounts: dict[str, Ordered[Ask]] = {}  # the asks for each type by their amount
        self._priorities: Ordered[Ask] = Ordered()  # the asks, highest priority first
        self._compared_by = self._comparison()  # the settings by which the applications are sorted

    def wait(self, application: Application, ask: Ask) -> None:
        self.shapes[ask.key] = frozenset(ask.amounts.items())
        for name, amount in ask.amounts.items():
            self._amounts.setdefault(name, Ordered()).put(ask.key, amount, ask)
        self._priorities.put(ask.key, -ask.priority, ask)
        self.place(application)

    def give_up(self, application: Application, ask: Ask) -> None:
        for name, _ in self.shapes.pop(ask.key):
            self._amounts[name].drop(ask.key)
            if not self._amounts[name]:
                del self._amounts[name]
        self._priorities.drop(ask.key)
        self.place(application)

    def place(self, application: Application) -> None:
        """Put the application in its place in the order."""
        if application.pending:
            self.applications.put(application.name, self._key(application), application)
        else:
            self.applications.drop(application.name)

    def place_all(self) -> None:
        """Sort all applications again if the settings by which they are compared have changed."""
        if self._compared_by == self._comparison():
            return
        self._compared_by = self._comparison()
        for application in [*self.applications]:
            self.place(application)

    def _comparison(self) -> tuple[Properties, YuniKornAmounts | None]:
        return self.leaf.settings.properties, self.leaf.settings.guaranteed

    def _key(self, application: Application) -> tuple[object, ...]:
        properties, priority = self.leaf.settings.properties, -application.priority
        if properties.sort == FAIR:
            share = tuple(shares(application.allocated, self.leaf.settings.guaranteed)[::-1])
            return (priority, share) if properties.by_priority else (share, priority)
        submitted = application.submitted
        return (priority, submitted) if properties.by_priority else (submitted, priority)

    def bounds(self) -> AskBounds | None:
        """The bounds of the waiting asks; None if none waits."""
        if not self.shapes:
            return None
        priority, key = self._priorities.first
        asks = {name: self._amounts[name] for name, _ in self.shapes[key]}
        least = {name: each.first[0] for name, each in asks.items() if len(each) == len(self.shapes)}
        return AskBounds(least, -priority)


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
