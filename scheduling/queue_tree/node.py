"""A queue with what is used in it: the node that the trees of Volcano and of YuniKorn are made of.

A queue has accounts, such as `allocated`. What is added to an account at a queue is added to all above it. Besides, a
queue declares amounts, such as its guarantee, and its parent knows the sum over its direct children.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, Self, TypeVar

from scheduling.objects.amounts import add_to
from scheduling.queue_tree.amounts import Amounts

S = TypeVar("S")
DeclaredAmounts = Mapping[str, Amounts]


class QueueNode(Generic[S]):
    """A queue where it stands. `above` names its parent, None: it is a root. `parent` is that queue.

    `parent` is None also where there is no such queue, or where the queue lies on a cycle: `detached` says which.
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
        """The sum of what the direct children declare."""
        return self.below.get(account, {})

    def add(self, account: str, amounts: Amounts, times: int = 1) -> None:
        """Add to the account here and in all above; times -1 takes back."""
        if amounts:
            for here in self.up():
                add_to(here.accounts.setdefault(account, {}), amounts, times)

    def up(self) -> Iterator[Self]:
        """The queue itself, then all above it, up to the root."""
        here: Self | None = self
        while here is not None:
            yield here
            here = here.parent

    def walk(self) -> Iterator[Self]:
        """The queue itself and all below it, parents first."""
        left = [self]
        while left:
            here = left.pop()
            yield here
            left += reversed(here.children.values())

    def ancestors(self) -> list[Self]:
        """The root first, the parent last."""
        return [*self.up()][:0:-1]

    @property
    def detached(self) -> Self | None:
        """The first queue upward that should have a parent and has none: the parent is missing, or on a cycle."""
        top = [*self.up()][-1]
        return top if top.above is not None else None
