"""What looks after objects of its own kinds beside the Workloads: jobs, Pods, queues' statuses, ...

A controller is shown objects and returns the writes that it wants. It starts from the objects as they are, and keeps
nothing in memory that the API server does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cluster.actions import Action
from reconciler.core.commands import ReadObject
from reconciler.jobs.step import JobInputs
from reconciler.objects.observed import Key, Observed
from reconciler.objects.wanted import WantedWrite
from reconciler.objects.watched import WatchedKind
from reconciler.objects.workers import FromWorker, WorkerCommand
from scheduling.objects.workload import Workload

Busy: TypeAlias = Callable[[str, str], bool]
"""Whether nothing can be written of the object (kind, `namespace/name`): a write is in flight, or it rests."""
Lookup: TypeAlias = Callable[[str], Observed[Workload] | None]
"""The Workload `namespace/name` as it is stored; None where there is none."""


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Wake the controller for `item` once the object `key` may be written."""

    item: Key
    key: Key


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Wake the controller for `item` at this moment (nanoseconds)."""

    item: Key
    at: int


Wanted: TypeAlias = WantedWrite | WaitFor | WakeAt | ReadObject | WorkerCommand


class Controller:
    """What the core calls. A controller leaves out what does not concern it.

    `watched` are the kinds that it is shown. `after_decisions`: it is asked when a round has decided, not before.
    """

    watched: tuple[WatchedKind[object], ...] = ()
    after_decisions = False

    def observe(self, observed: Observed[object]) -> None:
        """One of its objects is new, has changed, or is gone (`value` None)."""

    def workload_changed(self, workload: str) -> None:
        """Something about the Workload `namespace/name` changed."""

    def inputs_changed(self, inputs: JobInputs) -> None:
        """What the steps of all jobs depend on has changed."""

    def from_worker(self, event: FromWorker, now: int) -> None:
        """There is news of a worker cluster (moment in nanoseconds)."""

    def commands(self) -> list[WorkerCommand]:
        """What is to be done at once about what was observed, also while another process leads."""
        return []

    def completed(self, reserved: Workload, now: int) -> Workload:
        """The Workload for which quota is about to be stored, with what can be stored along (whole second)."""
        del now
        return reserved

    def written(self, action: Action, observed: Observed[object]) -> None:
        """A write that it wanted was answered with this object."""

    def found(self, observed: Observed[object]) -> None:
        """The API server was asked for one of its objects, and answered with this."""

    def gone(self, key: Key) -> None:
        """The API server was asked for one of its objects, and says that there is none."""

    def wake(self, item: Key) -> None:
        """What it waited for has come about: look at the item again."""

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """What is to be written now (moment in nanoseconds). Of what is busy nothing: it waits for that.

        Asked while this process leads.
        """
        del busy, now
        yield from ()
