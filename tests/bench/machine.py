"""The share of the machine that other processes used while a part of the benchmark ran."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MachineTime:
    """Processor seconds so far: `busy` and `idle` of all processors, and `ours` of this process and its children."""

    busy: float
    idle: float
    ours: float

    @classmethod
    def now(cls) -> MachineTime:
        """The present values, from /proc/stat."""
        user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        tick = os.sysconf("SC_CLK_TCK")
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        busy = user + nice + system + sum(rest)
        return cls(busy / tick, (idle + waiting) / tick, sum(each.ru_utime + each.ru_stime for each in own))

    def others(self, later: MachineTime) -> float:
        """The share of the machine, from 0 to 1, that other processes used between this time and `later`."""
        busy, ours = later.busy - self.busy, later.ours - self.ours
        return max(0.0, busy - ours) / max(busy + later.idle - self.idle, 0.01)
