"""A queue of YuniKorn with what is in use and what waits in it: max, headroom and applications up the tree.

Amounts are in YuniKorn's units (`vcore` in thousandths). None means no max at all; a type that a max does not name is
unlimited, except for a root that stands for the nodes of a cluster: there it is 0.
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

ALLOCATED, PENDING, PREEMPTING = "allocated", "pending", "preempting"
"""What is in use, what waits, and what is being preempted: accounts. Each counts a queue with its descendants."""


@dataclass(frozen=True, slots=True)
class YuniKornQueueSettings:
    """`managed`: declared in queues.yaml. Otherwise a placement rule made the queue. 0 applications means no limit."""

    path: str
    leaf: bool = True
    managed: bool = True
    maximum: YuniKornAmounts | None = None
    guaranteed: YuniKornAmounts | None = None
    max_applications: int = 0
    properties: Properties = DEFAULTS
    limits: tuple[Limit, ...] = ()


class QueueLack(NamedTuple):
    """`short` of `requested` is missing of a resource, because the queue has `limit` at most and uses `used`.

    `whose` is empty for the max of the queue, else the user or group whose limit it is there, as in `user ann`.
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
    """Amounts that do not fit below the max of a queue; `queue` is the highest such queue on the path."""

    def __init__(self, queue: YuniKornQueue) -> None:
        super().__init__(f"more than the max of {queue.path}")
        self.queue = queue


class OverReleased(ValueError):
    """More is released than a queue has allocated."""

    def __init__(self, queue: YuniKornQueue) -> None:
        super().__init__(f"more than {queue.path} has allocated")
        self.queue = queue


class YuniKornQueue(QueueNode[YuniKornQueueSettings]):
    """A node of the tree with YuniKorn's rules. `running` counts the applications that run in its subtree.

    `number` is the place of the queue among all, by when it came.

    `is_cluster`: the max is what the nodes of a cluster offer, so that a type that it lacks does not exist.
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
    def preempting(self) -> YuniKornAmounts:
        return self.amounts(PREEMPTING)

    @property
    def is_under_guarantee(self) -> bool:
        """Whether it uses less of a resource than it is guaranteed, while something waits in it."""
        guaranteed = self.settings.guaranteed
        if not guaranteed or not self.pending:
            return False
        return any(self.allocated.get(name, 0) < amount for name, amount in guaranteed.items())

    # --- share

    def fair_maximum(self) -> YuniKornAmounts | None:
        """What shares are measured by where nothing is guaranteed: the max of the top, and over it those below."""
        whole: YuniKornAmounts | None = None
        for queue in self._down():
            own = queue.settings.maximum
            whole = own if queue.parent is None else {**whole, **(own or {})} if whole else whole
        return whole

    def share(self) -> float:
        """The largest ratio of allocated to guaranteed, or to the fair maximum: the queue with the least is first."""
        return fair_share(self.allocated, self.settings.guaranteed, self.fair_maximum())

    def _down(self) -> list[YuniKornQueue]:
        return list(self.up())[::-1]

    # --- what fits

    def lacks(self, amounts: YuniKornAmounts) -> list[QueueLack]:
        """What is short of the amounts at this queue alone, by resource."""
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
        """Whether the amounts fit next to what is allocated in this queue alone."""
        most, allocated = self.settings.maximum, self.allocated
        if most is None:
            return not self.is_cluster or all(amount + allocated.get(name, 0) <= 0 for name, amount in amounts.items())
        for name, amount in amounts.items():
            limit = most.get(name, 0) if self.is_cluster else most.get(name)
            if limit is not None and amount + allocated.get(name, 0) > max(0, limit):
                return False
        return True

    def full(self) -> YuniKornQueue | None:
        """The nearest queue on the path where no further application may run; None where one may."""
        for queue in self.up():
            if 0 < queue.settings.max_applications <= queue.running:
                return queue
        return None

    # --- bookkeeping, for the whole path or not at all

    def allocate(self, amounts: YuniKornAmounts) -> None:
        """Count the amounts here and in all ancestors. Raises OverMaximum if one of these queues has no room."""
        for queue in self._down():
            if not queue.fits(amounts):
                raise OverMaximum(queue)
        self.hold(amounts)

    def hold(self, amounts: YuniKornAmounts) -> None:
        """Count the amounts whether they fit or not, as for what runs already."""
        self.add(ALLOCATED, amounts)

    def release(self, amounts: YuniKornAmounts) -> None:
        """Subtract the amounts here and in all ancestors. Raises OverReleased if one of these holds less."""
        for queue in self._down():
            if any(amount > max(0, queue.allocated.get(name, 0)) for name, amount in amounts.items()):
                raise OverReleased(queue)
        self.add(ALLOCATED, amounts, -1)

    def wait(self, amounts: YuniKornAmounts, sign: int) -> None:
        """Count what waits (1), or no longer (-1)."""
        self.add(PENDING, amounts, sign)

    def run(self, change: int) -> None:
        """Count an application that runs (1), or no longer (-1)."""
        for queue in self.up():
            queue.running += change
