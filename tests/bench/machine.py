"""How much of the machine others used while a part of the bench ran."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MachineTime:
    """`busy` and `idle` seconds of all processors so far, and the seconds of `ours`: this process and its children."""

    busy: float
    idle: float
    ours: float

    @classmethod
    def now(cls) -> MachineTime:
        """As /proc/stat has it."""
        user, nice, system, idle, waiting, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        tick = os.sysconf("SC_CLK_TCK")
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        busy = user + nice + system + sum(rest)
        return cls(busy / tick, (idle + waiting) / tick, sum(each.ru_utime + each.ru_stime for each in own))

    def others(self, later: MachineTime) -> float:
        """The share of the machine that others used until then, from 0 to 1."""
        busy, ours = later.busy - self.busy, later.ours - self.ours
        return max(0.0, busy - ours) / max(busy + later.idle - self.idle, 0.01)
