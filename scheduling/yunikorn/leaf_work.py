"""What waits in one leaf: its applications in the order in which they are tried, and the least that any of it needs."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TypeVar

from policies.dialects.yunikorn_config.resources import Amounts
from policies.dialects.yunikorn_config.shares import shares
from scheduling.yunikorn.application import Application, Ask
from scheduling.yunikorn.ordered import Ordered
from scheduling.yunikorn.properties import FAIR
from scheduling.yunikorn.queue import YuniKornQueue

T = TypeVar("T")
Sort = frozenset[tuple[str, int]]
"""Equal amounts are one sort: where one of them does not fit, none does."""


class Reach(NamedTuple):
    """A bound for all that waits in a subtree: at most its smallest amount of each type, and its highest priority."""

    least: Amounts
    priority: int


def _one_less(counts: Counter[T], item: T) -> bool:
    """Whether that was the last one."""
    counts[item] -= 1
    if counts[item]:
        return False
    del counts[item]
    return True


def sort_of(amounts: Amounts) -> Sort:
    return frozenset(amounts.items())


def joined(every: Any) -> Reach | None:
    """The reach of several subtrees together."""
    found = [reach for reach in every if reach is not None]
    if not found:
        return None
    least = dict(found[0].least)
    for reach in found[1:]:
        least = {name: min(amount, reach.least[name]) for name, amount in least.items() if name in reach.least}
    return Reach(least, max(reach.priority for reach in found))


class LeafWork:
    """`applications` are those of which something waits that may be tried."""

    def __init__(self, leaf: YuniKornQueue) -> None:
        self.leaf = leaf
        self.applications: Ordered[Application] = Ordered()
        self.sorts: dict[str, Sort] = {}
        self._counts: Counter[Sort] = Counter()
        self._priorities: Counter[int] = Counter()
        self._least: Amounts | None = None

    def wait(self, application: Application, ask: Ask) -> None:
        sort = self.sorts[ask.key] = sort_of(ask.amounts)
        self._counts[sort] += 1
        self._priorities[ask.priority] += 1
        if self._counts[sort] == 1:
            self._least = None
        self.place(application)

    def give_up(self, application: Application, ask: Ask) -> None:
        sort = self.sorts.pop(ask.key)
        if _one_less(self._counts, sort):
            self._least = None
        _one_less(self._priorities, ask.priority)
        self.place(application)

    def place(self, application: Application) -> None:
        """Put the application where it belongs in the order."""
        if application.pending:
            self.applications.put(application.name, self._key(application), application)
        else:
            self.applications.drop(application.name)

    def place_all(self) -> None:
        """What the leaf is guaranteed has changed, by which a fair leaf compares applications."""
        for application in [*self.applications]:
            self.place(application)

    def _key(self, application: Application) -> tuple[object, ...]:
        properties, priority = self.leaf.settings.properties, -application.priority
        if properties.sort == FAIR:
            share = tuple(shares(application.allocated, self.leaf.settings.guaranteed)[::-1])
            return (priority, share) if properties.by_priority else (share, priority)
        submitted = application.submitted
        return (priority, submitted) if properties.by_priority else (submitted, priority)

    def reach(self) -> Reach | None:
        """The reach of the waiting applications; None if none waits."""
        if not self._counts:
            return None
        if self._least is None:
            found = joined(Reach(dict(sort), 0) for sort in self._counts)
            assert found
            self._least = found.least
        return Reach(self._least, max(self._priorities))
