"""A queue of YuniKorn with its usage and its waiting amounts, checked against the max of all queues on its path.

Amounts are in YuniKorn's units (`vcore` in thousandths). None means no max at all. A resource that a max does not name
is unlimited, except in a root whose max is the capacity of the nodes: there it is 0.
Source: YuniKorn core, `pkg/scheduler/objects/queue.go`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from policies.dialects.yunikorn_config.model import Limit
from policies.dialects.yunikorn_config.resources import YuniKornAmounts
from policies.dialects.yunikorn_config.shares import fair_share
from scheduling.queue_tree.node import QueueNode
from scheduling.yunikorn.properties import DEFAULTS, Properties

ALLOCATED, PENDING = "allocated", "pending"
"""The accounts: amounts in use, and waiting. Each counts a queue with its descendants."""


@dataclass(frozen=True, slots=True)
class YuniKornQueueSettings:
    """The settings of a queue.

    managed: declared in queues.yaml. Otherwise a placement rule created it.
    max_applications: 0 means no limit.
    """

    path: str
    leaf: bool = True
    managed: bool = True
    maximum: YuniKornAmounts | None = None
    guaranteed: YuniKornAmounts | None = None
    max_applications: int = 0
    properties: Properties = DEFAULTS
    limits: tuple[Limit, ...] = ()


class QueueLack(NamedTuple):
    """A shortage: with `requested`, the usage of a resource in the queue would exceed `limit` by `short`.

    whose: the user or group to which the limit applies, such as `user ann`; empty for the max of the queue.
    """

    queue: str
    resource: str
    requested: int
    used: int
    limit: int
    whose: str = ""

    @property
    def short(self) -> int:
        return self.requested + self.used - self.limit


class OverMaximum(ValueError):
    """Amounts exceed the max of a queue, the topmost such queue on the path."""

    def __init__(self, queue: YuniKornQueue) -> None:
        super().__init__(f"more than the max of {queue.path}")


class OverReleased(ValueError):
    """A release exceeds the allocated amounts of a queue."""

    def __init__(self, queue: YuniKornQueue) -> None:
        super().__init__(f"more than {queue.path} has allocated")


class YuniKornQueue(QueueNode[YuniKornQueueSettings]):
    """A node of the tree with YuniKorn's rules.

    running: the number of applications that run in its subtree.
    number: the place of the queue in the order of creation of all queues.
    is_cluster: the max is the capacity of the nodes, so that resources that it does not name do not exist.
    """

    __slots__ = ("is_cluster", "number", "running")

    def __init__(
        self, settings: YuniKornQueueSettings, parent: Self | None = None, *, is_cluster: bool = False
    ) -> None:
        super().__init__(settings.path.rpartition(".")[2], settings)
        self.is_cluster = is_cluster
        self.number = self.running = 0
        if parent is not None:
            self.parent, self.above = parent, parent.name
            parent.children[self.name] = self

    @property
    def path(self) -> str:
        return self.settings.path

    @property
    def is_leaf(self) -> bool:
        return self.settings.leaf

    @property
    def allocated(self) -> YuniKornAmounts:
        return self.amounts(ALLOCATED)

    @property
    def pending(self) -> YuniKornAmounts:
        return self.amounts(PENDING)

    @property
    def is_under_guarantee(self) -> bool:
        """Whether it uses less of some resource than its guaranteed amount, and something waits in it."""
        guaranteed = self.settings.guaranteed
        if not guaranteed or not self.pending:
            return False
        return any(self.allocated.get(name, 0) < amount for name, amount in guaranteed.items())

    # --- share

    def fair_maximum(self) -> YuniKornAmounts | None:
        """The amounts to which shares are relative if nothing is guaranteed; None if root has no max.

        For each resource it is the max of the nearest queue on the path that names it.
        """
        whole: YuniKornAmounts | None = None
        for queue in self._down():
            own = queue.settings.maximum
            whole = own if queue.parent is None else {**whole, **(own or {})} if whole else whole
        return whole

    def share(self) -> float:
        """The highest ratio of allocated to guaranteed amounts, or to the fair maximum.

        The lowest share is served first.
        """
        return fair_share(self.allocated, self.settings.guaranteed, self.fair_maximum())

    def _down(self) -> list[YuniKornQueue]:
        return list(self.up())[::-1]

    # --- checks

    def lacks(self, amounts: YuniKornAmounts) -> list[QueueLack]:
        """The resources of which this queue alone has too little for the amounts."""
        most = self.settings.maximum
        if most is None and not self.is_cluster:
            return []
        found = []
        for name in sorted(amounts):
            limit = (most or {}).get(name, 0 if self.is_cluster else None)
            used = self.allocated.get(name, 0)
            if limit is not None and amounts[name] + used > max(0, limit):
                found.append(QueueLack(self.path, name, amounts[name], used, limit))
        return found

    def fits(self, amounts: YuniKornAmounts) -> bool:
        """Whether the amounts fit in this queue alone, beside its allocated amounts."""
        most, allocated = self.settings.maximum, self.allocated
        if most is None:
            return not self.is_cluster or all(amount + allocated.get(name, 0) <= 0 for name, amount in amounts.items())
        for name, amount in amounts.items():
            limit = most.get(name, 0) if self.is_cluster else most.get(name)
            if limit is not None and amount + allocated.get(name, 0) > max(0, limit):
                return False
        return True

    def full(self) -> YuniKornQueue | None:
        """The nearest queue on the path that allows no further application to run; None if all do."""
        for queue in self.up():
            if 0 < queue.settings.max_applications <= queue.running:
                return queue
        return None

    # --- bookkeeping: for the whole path, or not at all

    def allocate(self, amounts: YuniKornAmounts) -> None:
        """Count the amounts here and in all ancestors. Raises OverMaximum if one of these queues has no room."""
        for queue in self._down():
            if not queue.fits(amounts):
                raise OverMaximum(queue)
        self.hold(amounts)

    def hold(self, amounts: YuniKornAmounts) -> None:
        """Count the amounts even if they do not fit, for Pods that already run."""
        self.add(ALLOCATED, amounts)

    def release(self, amounts: YuniKornAmounts) -> None:
        """Subtract the amounts here and in all ancestors. Raises OverReleased if one of these holds less."""
        for queue in self._down():
            if any(amount > max(0, queue.allocated.get(name, 0)) for name, amount in amounts.items()):
                raise OverReleased(queue)
        self.add(ALLOCATED, amounts, -1)

    def wait(self, amounts: YuniKornAmounts, sign: int) -> None:
        """Add waiting amounts; with `sign` -1, subtract them."""
        self.add(PENDING, amounts, sign)

    def run(self, change: int) -> None:
        """Count a running application; with `change` -1, stop counting it."""
        for queue in self.up():
            queue.running += change
