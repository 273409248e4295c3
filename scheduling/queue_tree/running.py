"""How many pods of a workload run, for all dialects."""

from __future__ import annotations

from typing import NamedTuple


class RunningPods(NamedTuple):
    """The number of running pods of a workload, and its queue."""

    queue: str
    pods: int
