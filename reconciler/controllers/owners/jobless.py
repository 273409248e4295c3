"""Workloads whose job no watch shows, or is not queued any more. Each is in one state:

    UNRESOLVED -- the job is asked for by its name --> WAITS -- after a while --> OVERDUE -- it is in use --> UNRESOLVED
    UNRESOLVED, WAITS, OVERDUE -- the API server says that the job is gone, or replaced --> GONE, REPLACED

It leaves as soon as its job is shown. A watch may be late, and a kind may be away for a moment, so that nothing is
concluded of what was not shown for a while, but that what uses no quota may go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import takewhile
from typing import NamedTuple

from policies.dialects.kueue_owners import controller_of
from policies.dialects.reading import metadata
from policies.model.objects import GroupKind
from reconciler.controllers.stored_workloads import StoredWorkloads
from reconciler.jobs.kind import JobKind
from reconciler.jobs.life import held
from reconciler.objects.observed import Key
from scheduling.objects.workload import Workload


class State(Enum):
    UNRESOLVED = "unresolved"
    WAITS = "waits"
    OVERDUE = "overdue"
    GONE = "gone"
    REPLACED = "replaced"


FINAL = (State.GONE, State.REPLACED)


class Unresolved(NamedTuple):
    """A Workload, and the job that controls it, which no watch shows."""

    workload: Workload
    job: Key
    uid: str


class Jobless:
    """By the name of the Workload. `patience` and moments are in nanoseconds."""

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._states: dict[str, State] = {}
        self._unresolved: dict[str, None] = {}
        self._new: dict[str, None] = {}
        self._since: dict[str, int] = {}
        self._idle: set[str] = set()

    def __len__(self) -> int:
        return len(self._states)

    def state(self, name: str) -> State | None:
        """None: its job is shown and queued, as far as is known."""
        return self._states.get(name)

    def lost(self, name: str) -> bool:
        """Whether the API server says that it has no job."""
        return self._states.get(name) in FINAL

    def idle(self, name: str) -> bool:
        """Whether its job had no pods when it was shown last."""
        return name in self._idle

    # --- what happens

    def unqueued(self, name: str) -> None:
        """Its job is shown, and is not queued any more."""
        if name not in self._states:
            self._wait(name, State.WAITS)

    def unseen(self, name: str) -> None:
        """Its job is not shown, so far: a list or a watch of jobs may be on its way."""
        if name not in self._states:
            self._wait(name, State.UNRESOLVED)

    def parted(self, name: str, *, idle: bool) -> None:
        """Its job is shown no more."""
        if not self.lost(name):
            self._wait(name, State.UNRESOLVED)
        if idle:
            self._idle.add(name)

    def settled(self, name: str, *, replaced: bool) -> None:
        """Its job is gone, or another one has the name of that."""
        self._states[name] = State.REPLACED if replaced else State.GONE

    def used(self, name: str) -> None:
        """It is overdue, and holds quota that may be in use: its job is asked for again."""
        self.leave(name)
        self._wait(name, State.UNRESOLVED)

    def leave(self, name: str) -> None:
        """It is gone, or its job is shown."""
        self._states.pop(name, None)
        self._unresolved.pop(name, None)
        self._new.pop(name, None)
        self._since.pop(name, None)
        self._idle.discard(name)

    def _wait(self, name: str, state: State) -> None:
        self._states[name] = state
        if state is State.UNRESOLVED:
            self._unresolved[name] = None
        if name not in self._since:
            self._new[name] = None

    # --- what is due

    def unresolved(self, workloads: StoredWorkloads, kinds: Mapping[GroupKind, JobKind]) -> Iterator[Unresolved]:
        """Those whose job is to be asked for. It may have gone while nobody led: no watch says so then."""
        unresolved, self._unresolved = self._unresolved, {}
        for name in unresolved:
            if self._states.get(name) is not State.UNRESOLVED:
                continue
            self._states[name] = State.WAITS
            whole, read = workloads.whole(name)
            job = controller_of(metadata(whole or {}))
            kind = kinds.get(job.kind) if job is not None else None
            if job is None or kind is None or read is None or read.deleting or (read.finished and not held(whole)):
                continue
            yield Unresolved(read, (kind.name, f"{read.namespace}/{job.name}"), job.uid)

    def due(self, now: int) -> list[str]:
        """Those that came to be overdue by now, in the order in which they were noticed."""
        self._since.update(dict.fromkeys(self._new, now))
        self._new.clear()
        found = list(takewhile(lambda name: now - self._since[name] >= self._patience, self._since))
        for name in found:
            del self._since[name]
            if not self.lost(name):
                self._states[name] = State.OVERDUE
        return found
