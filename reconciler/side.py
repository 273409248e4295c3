"""What looks after objects of its own kinds beside the Workloads: the jobs of one kind or another, for example.

A side lives in the loop's thread. Like the loop it starts from the objects as they are, and remembers nothing that the
API server does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cluster.actions import Action
from reconciler.events import About
from reconciler.feed import Followed, Key, Seen
from reconciler.jobs.step import JobSurroundings

Busy: TypeAlias = Callable[[str, str], bool]
"""Whether a write of the object (kind, `namespace/name`) is under way, or has to wait."""
Look: TypeAlias = Callable[[str], Seen | None]
"""The Workload `namespace/name` as it is stored; None where there is none."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One write to the object `key`, which is busy until it is known what came of it, and what is worth an Event.

    `action` None: there is nothing that could be written; the Event says why. No `reason` or no `about`: no Event.
    """

    key: Key
    action: Action | None
    about: About | None = None
    reason: str = ""
    message: str = ""
    warning: bool = False


class Side(Protocol):
    """`followed` are the kinds that it is shown; of one that the loop follows by itself, the loop's reading holds."""

    @property
    def followed(self) -> tuple[Followed, ...]: ...

    def see(self, seen: Seen) -> None:
        """One of its objects is new, has changed, or is gone (`value` None)."""

    def touch(self, workload: str) -> None:
        """Something about the Workload `namespace/name` changed."""

    def renew(self, around: JobSurroundings) -> None:
        """What all jobs depend on has changed."""

    def due(self, busy: Busy, now: int) -> Iterator[Turn]:
        """What is to be written now (moment in nanoseconds). Of what is busy nothing; it stays to be looked at."""


MakeSide: TypeAlias = Callable[[Look], Side]
