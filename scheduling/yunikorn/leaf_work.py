"""The waiting asks of one leaf: the order of their applications, and the bounds of their amounts."""

from __future__ import annotations

from typing import Any, NamedTuple

from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from policies.dialects.yunikorn_config.shares import shares
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.ordered import Ordered
from scheduling.yunikorn.properties import FAIR, Properties
from scheduling.yunikorn.queue import YuniKornQueue

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
