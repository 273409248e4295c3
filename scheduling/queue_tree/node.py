"""A queue with its usage: a node in the trees of Volcano and of YuniKorn.

A queue has accounts, such as `allocated`. An amount that is added to an account also counts in all ancestors. A queue
also declares amounts, such as its guarantee, and its parent has the sum over its direct children.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Self, TypeVar

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts

S = TypeVar("S")
DeclaredAmounts = Mapping[str, Amounts]


class QueueNode(Generic[S]):
    """A queue in its tree.

    above: the name of its parent; None for a root.
    parent: the parent. None for a root, if the parent does not exist, or if the queue would close a cycle.
    on_cycle: whether `parent` is None because of a cycle.
    accounts: amounts by account, descendants included.
    declared: the amounts that it declares. below: their sums over its direct children.
    """

    __slots__ = ("above", "accounts", "below", "children", "declared", "name", "on_cycle", "parent", "settings")

    def __init__(self, name: str, settings: S) -> None:
        self.name = name
        self.above: str | None = None
        self.settings = settings
        self.parent: Self | None = None
        self.on_cycle = False
        self.children: dict[str, Self] = {}
        self.accounts: dict[str, dict[str, int]] = {}
        self.declared: DeclaredAmounts = {}
        self.below: dict[str, dict[str, int]] = {}

    def amounts(self, account: str) -> Amounts:
        return self.accounts.get(account, {})

    def sum_below(self, account: str) -> Amounts:
        """The sum of the amounts that the direct children declare."""
        return self.below.get(account, {})

    def add(self, account: str, amounts: Amounts, times: int = 1) -> None:
        """Add to the account here and in all ancestors; with `times` -1, subtract."""
        if amounts:
            for here in self.up():
                add_to(here.accounts.setdefault(account, {}), amounts, times)

    def up(self) -> Iterator[Self]:
        """The queue itself, then its ancestors, up to the root."""
        here: Self | None = self
        while here is not None:
            yield here
            here = here.parent

    def walk(self) -> Iterator[Self]:
        """The queue itself and its descendants, parents first."""
        left = [self]
        while left:
            here = left.pop()
            yield here
            left += reversed(here.children.values())

    def ancestors(self) -> list[Self]:
        """The ancestors, root first."""
        return [*self.up()][:0:-1]

    @property
    def detached(self) -> Self | None:
        """The topmost queue of this path, if it names a parent that is missing or would close a cycle; else None."""
        top = [*self.up()][-1]
        return top if top.above is not None else None
