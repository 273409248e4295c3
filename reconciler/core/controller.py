"""The interface of controllers: each manages objects of its own kinds, such as jobs, Pods, or the statuses of queues.

A controller observes objects and returns the writes that it wants. It begins with the stored objects, and all its
state can be rebuilt from the API server.

An item is what a controller handles as a whole, such as a job with its Workload. The key of an item is like that of an
object, but its kind need not exist in the API server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from cluster.actions import Action
from reconciler.core.commands import ReadObject
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import FromWorker, WorkerCommand
from scheduling.objects.workload import Workload

C = TypeVar("C", bound="Controller")
Busy: TypeAlias = Callable[[str, str], bool]
"""Takes a kind and a name (`namespace/name`). Whether the object cannot be written: a write of it is in flight, or it
has a backoff."""
Lookup: TypeAlias = Callable[[str], Observed[Workload] | None]
"""The Workload `namespace/name` as it is stored; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wake the controller for `item` once the object `key` may be written."""

    item: Key
    key: Key


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Wake the controller for `item` at the time `at` (nanoseconds)."""

    item: Key
    at: int


Wanted: TypeAlias = WantedWrite | WaitFor | WakeAt | ReadObject | WorkerCommand


class Controller:
    """The interface that the core calls. A controller overrides the methods that it needs.

    `watched`: the kinds that it observes.
    `after_decisions`: whether it runs after the decisions of a turn instead of before them.
    `obstacle`: why it writes nothing at present, as a sentence; empty if it may write. Any thread may read it.
    """

    watched: tuple[WatchedKind[object], ...] = ()
    after_decisions = False
    obstacle = ""

    def observe(self, observed: Observed[object]) -> None:
        """An object of a watched kind is new, has changed, or is gone (`value` None)."""

    def workload_changed(self, workload: str) -> None:
        """The Workload `namespace/name`, or an object that it depends on, has changed."""

    def inputs_changed(self, inputs: JobInputs) -> None:
        """The shared inputs of the steps of all jobs have changed."""

    def lead(self) -> None:
        """This process leads from now on. Another one may have written before, also on worker clusters."""

    def may_get_quota(self) -> Iterable[Key]:
        """The objects to which a write of this controller may give quota now. Called when all objects are known."""
        return ()

    def from_worker(self, event: FromWorker, now: int) -> None:
        """A worker cluster has reported an event. `now` is in nanoseconds."""

    def commands(self) -> list[WorkerCommand]:
        """The commands for worker clusters that follow from what was observed. A standby executes them too."""
        return []

    def completed(self, reserved: Workload, now: int) -> Workload:
        """Add fields to a Workload whose quota is about to be stored. `now` is a whole second."""
        del now
        return reserved

    def written(self, action: Action, observed: Observed[object]) -> None:
        """The response to a write of this controller: the object as stored."""

    def found(self, observed: Observed[object]) -> None:
        """The response to a read of one of its objects: the object as stored."""

    def gone(self, key: Key) -> None:
        """The response to a read of one of its objects: the object does not exist."""

    def wake(self, item: Key) -> None:
        """What the item waited for, an object or a time, has come: look at the item again."""

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """The writes that are needed now. `now` is in nanoseconds.

        Called only while this process leads. The controller does not write a busy object, but waits for it.
        """
        del busy, now
        yield from ()


def find(controllers: Iterable[Controller], kind: type[C]) -> C | None:
    """The first of these controllers that is of this class."""
    return next((each for each in controllers if isinstance(each, kind)), None)
