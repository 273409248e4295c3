"""Applications and their asks, the units that YuniKorn decides about.

Source: YuniKorn core, `pkg/scheduler/objects/application.go`; k8shim `pkg/cache/application.go`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from policies.dialects.yunikorn_config.resources import YuniKornAmounts, minus, plus
from policies.dialects.yunikorn_gangs import TaskGroup
from scheduling.yunikorn.ordered import Ordered
from scheduling.yunikorn.queue import YuniKornQueue


class ApplicationState(StrEnum):
    """The states of an application by YuniKorn's names. States that make no difference to decisions are left out."""

    ACCEPTED = "Accepted"
    RUNNING = "Running"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for amounts, which it gets or waits for: of a Pod, or of all placeholders of a gang.

    group: the task group of the Pod.
    optional: it is preempted before asks that opt out of preemption.
    pinned: it needs a specific node, or is for placeholders, and is never preempted.
    preempts: whether others may be preempted for it; not with the preemptionPolicy `Never`.
    """

    key: str
    amounts: YuniKornAmounts
    priority: int = 0
    created: int = 0
    group: str = ""
    optional: bool = True
    pinned: bool = False
    preempts: bool = True


@dataclass(frozen=True, slots=True)
class NamespaceQuota:
    """The limit of a Namespace for all its applications in dynamic queues together. 0 applications means no limit."""

    namespace: str
    maximum: YuniKornAmounts
    applications: int = 0


@dataclass(slots=True, eq=False)
class Application:
    """An application of YuniKorn with its asks.

    pending: the waiting asks that may be tried, by key. order: the same asks in the order in which they are tried.
    kept: the asks that wait until the placeholders of the gang are allocated.
    allocations: the allocated asks by key. allocated: their sum.
    pods: the number of its Pods. Asks for placeholders are not Pods.
    first: the key of its first Pod, such as a driver. None before it exists, empty after it was preempted.
    placeholders: the number of places by group that no Pod has taken yet. None until they are allocated.
    quota: the limit of its Namespace. None: only queues limit the application, as in YuniKorn.
    """

    name: str
    leaf: YuniKornQueue
    user: str = ""
    groups: tuple[str, ...] = ()
    submitted: int = 0
    gang: tuple[TaskGroup, ...] = ()
    state: ApplicationState = ApplicationState.ACCEPTED
    pods: int = 0
    first: str | None = None
    pending: dict[str, Ask] = field(default_factory=dict)
    order: Ordered[Ask] = field(default_factory=Ordered)
    kept: dict[str, Ask] = field(default_factory=dict)
    allocations: dict[str, Ask] = field(default_factory=dict)
    allocated: YuniKornAmounts = field(default_factory=dict)
    placeholders: Counter[str] | None = None
    quota: NamespaceQuota | None = None

    @property
    def priority(self) -> int:
        """The highest priority of a waiting ask. Raises IndexError if none waits."""
        negative: int = self.order.first[0][0]
        return -negative

    def wait(self, ask: Ask) -> None:
        self.pending[ask.key] = ask
        self.order.put(ask.key, (-ask.priority, ask.created), ask)

    def give_up(self, key: str) -> Ask:
        """Remove an ask that waits, and return it. Raises KeyError."""
        ask = self.pending.pop(key)
        self.order.drop(key)
        return ask

    def hold(self, ask: Ask) -> None:
        self.allocations[ask.key] = ask
        self.allocated = plus(self.allocated, ask.amounts)

    def let_go(self, key: str) -> Ask:
        """Free an allocation, and return its ask. Raises KeyError."""
        ask = self.allocations.pop(key)
        self.allocated = {name: amount for name, amount in minus(self.allocated, ask.amounts).items() if amount}
        return ask

    def group(self, name: str) -> TaskGroup | None:
        return next((group for group in self.gang if group.name == name), None)

    def waiting(self) -> Iterator[Ask]:
        """All asks that wait, in the order in which they are tried."""
        yield from self.order
        yield from sorted(self.kept.values(), key=lambda ask: (-ask.priority, ask.created, ask.key))
