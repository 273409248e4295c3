"""How much of some work runs, as all dialects count it."""

from __future__ import annotations

from typing import NamedTuple


class RunningPods(NamedTuple):
    """How many pods of some work run, and in which queue."""

    queue: str
    pods: int
