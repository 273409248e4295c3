"""Lets Pods pass the gate as a project's quota allows, in the project's order, and reports why other Pods wait.

Each Pod has at most one write in flight, bound to the version that the decision used. Once it is decided that a Pod may
pass, the Pod counts as using quota, unless the API server refuses the write or the Pod is gone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from reconciler.core.controller import Busy, Controller, WaitFor, WakeAt, Wanted
from reconciler.core.records import Records
from reconciler.objects.observed import Key
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WatchedKind
from scheduling.objects.times import SECOND

PERIOD = 10 * SECOND
"""Nanoseconds between two updates of the reasons of all waiting Pods."""


class GateDecider(Protocol):
    """Decides which Pods may pass."""

    def refresh(self) -> None:
        """Process what was observed, without deciding anything."""

    def put_pod(self, key: str, pod: None) -> None:
        """The Pod `namespace/name` is gone."""

    def waiting(self) -> list[str]:
        """The names of the waiting Pods, as `namespace/name`."""

    def may_fit(self) -> Iterable[str]:
        """The waiting Pods that fit into the free quota, each on its own. Some may have to wait nevertheless."""

    def forget_decision(self, key: str) -> None:
        """Forget the decision about a Pod, because it may no longer be valid."""


K = TypeVar("K", bound=GateDecider)


class GatesController(Controller, Generic[K]):
    """The base of the controllers of gates.

    `records`: the stored objects, with the Pods in the view `pods`.
    `keeper`: decides by the rules of one project.
    """

    def __init__(self, records: Records, keeper: K, pods: WatchedKind[object]) -> None:
        self.records = records
        self.keeper = keeper
        self._pods = pods.kind
        self._all: Key = (f"{pods.kind}s", "")
        self._due: dict[Key, None] = {}
        self._unexplained: dict[Key, None] = {}
        self.outdated = False
        """Whether something was observed that may have changed the reasons of other Pods."""
        self._again = 0

    # --- what each project implements

    @abstractmethod
    def decide(self, now: int) -> list[str]:
        """The Pods that may pass now. `now` is in nanoseconds."""

    @abstractmethod
    def write(self, key: Key, now: int) -> WantedWrite | None:
        """The write that the stored object needs, a Pod or another object; None if it needs none."""

    @abstractmethod
    def explain(self, key: Key) -> WantedWrite | None:
        """The write that tells why a Pod waits; None if it does not wait, or shows the reason already."""

    def more(self, now: int) -> Iterator[Wanted]:
        """Writes and reads that come before the writes of Pods. `now` is in nanoseconds."""
        del now
        yield from ()

    # --- what all projects share

    def look_at(self, keys: Iterable[Key]) -> None:
        """Mark objects that may need a write."""
        self._due.update(dict.fromkeys(keys))

    def gone(self, key: Key) -> None:
        if key[0] == self._pods:
            self.keeper.put_pod(key[1], None)

    def may_get_quota(self) -> Iterator[Key]:
        self.keeper.refresh()
        yield from ((self._pods, name) for name in self.keeper.may_fit())

    def wake(self, item: Key) -> None:
        """Look at the item again, or at all waiting Pods. A decision about the item may no longer be valid."""
        if item == self._all:
            self.look_at((self._pods, name) for name in self.keeper.waiting())
            return
        self._due[item] = None
        if item[0] == self._pods:
            self.keeper.forget_decision(item[1])

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        passing = self.decide(now)
        if self.outdated and now >= self._again and self.keeper.waiting():
            self.outdated, self._again = False, now + PERIOD
            yield WakeAt(self._all, self._again)
        yield from self.more(now)
        due = {**dict.fromkeys((self._pods, name) for name in passing), **self._due}
        self._due = {}
        for key in due:
            if busy(*key):
                yield WaitFor(key, key)
            elif (write := self.write(key, now)) is not None:
                yield write
                yield WaitFor(key, key)
            else:
                self._unexplained[key] = None
        yield from self._explanations(busy)

    def _explanations(self, busy: Busy) -> Iterator[Wanted]:
        """Report why Pods wait, while few other writes are in flight. The other reports follow in later turns.

        So no Pod passes later because thousands of reports are written first.
        """
        while self._unexplained and self.records.calm:
            key = next(iter(self._unexplained))
            del self._unexplained[key]
            if busy(*key):
                yield WaitFor(key, key)
            elif (write := self.explain(key)) is not None:
                yield write
                yield WaitFor(key, key)
