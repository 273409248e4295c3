"""The interface of controllers: each manages objects of its own kinds, such as jobs, Pods, or the statuses of queues.

A controller observes objects and returns the writes that it wants. It starts from the objects as they are, and keeps
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
"""Whether the object (kind, `namespace/name`) cannot be written: a write is in flight, or it is backing off."""
Lookup: TypeAlias = Callable[[str], Observed[Workload] | None]
"""The Workload `namespace/name` as it is stored; None if it does not exist."""


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
    """The interface that the core calls. A controller overrides the methods that it needs.

    `watched`: the kinds that it observes.
    `after_decisions`: it runs in a turn after the decisions, not before.
    `obstacle`: why it does not write at present, in words; empty if it may. Any thread may read it.
    """

    watched: tuple[WatchedKind[object], ...] = ()
    after_decisions = False
    obstacle = ""

    def observe(self, observed: Observed[object]) -> None:
        """One of its objects is new, has changed, or is gone (`value` None)."""

    def workload_changed(self, workload: str) -> None:
        """The Workload `namespace/name` has changed, or something that it depends on."""

    def inputs_changed(self, inputs: JobInputs) -> None:
        """The shared inputs of the steps of all jobs have changed."""

    def from_worker(self, event: FromWorker, now: int) -> None:
        """News from a worker cluster. `now` is in nanoseconds."""

    def commands(self) -> list[WorkerCommand]:
        """The commands that follow at once from what was observed, also while another process leads."""
        return []

    def completed(self, reserved: Workload, now: int) -> Workload:
        """Add fields to a Workload whose quota is about to be stored. `now` is a whole second."""
        del now
        return reserved

    def written(self, action: Action, observed: Observed[object]) -> None:
        """The answer to a write of this controller: the object as stored."""

    def found(self, observed: Observed[object]) -> None:
        """The answer to a read of one of its objects: the object as stored."""

    def gone(self, key: Key) -> None:
        """The answer to a read of one of its objects: the object does not exist."""

    def wake(self, item: Key) -> None:
        """The object or moment that the item waited for has come: look at the item again."""

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        """The writes that are needed now. `now` is in nanoseconds.

        A busy object gets no write; the controller waits for it. Called only while this process leads.
        """
        del busy, now
        yield from ()
