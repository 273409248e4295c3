"""The waiting asks of one leaf: the order of their applications, and the bounds of their amounts."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from policies.dialects.yunikorn_config.shares import shares
from scheduling.objects.amounts import add_to
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
        self._counts: Counter[AskShape] = Counter()
        self._priorities: Counter[int] = Counter()
        self._least: YuniKornAmounts | None = None
        self._compared_by = self._comparison()  # the settings by which the applications are sorted

    def wait(self, application: Application, ask: Ask) -> None:
        shape = self.shapes[ask.key] = frozenset(ask.amounts.items())
        self._counts[shape] += 1
        self._priorities[ask.priority] += 1
        if self._least is not None:
            known = self._least.items()
            self._least = {name: min(least, ask.amounts[name]) for name, least in known if name in ask.amounts}
        self.place(application)

    def give_up(self, application: Application, ask: Ask) -> None:
        shape = self.shapes.pop(ask.key)
        add_to(self._counts, {shape: -1})
        if shape not in self._counts:
            self._least = None
        add_to(self._priorities, {ask.priority: -1})
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
        if not self._counts:
            return None
        if self._least is None:
            found = merged(AskBounds(dict(shape), 0) for shape in self._counts)
            assert found
            self._least = found.least
        return AskBounds(self._least, max(self._priorities))
