"""What the simulations of all dialects have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple


class RunningPods(NamedTuple):
    """The number of running pods of a workload, and its queue."""

    queue: str
    pods: int


@dataclass(frozen=True, slots=True)
class PlayedEvent:
    """An event of the input, as the user wrote it. `at`: in nanoseconds."""

    what: ClassVar[str] = "played"
    at: int
    event: str
