"""Costs that grow with the cluster: `python -m tests.bench.growth QUEUES PENDING`, a process for each peak of memory.

The trees have 10 ClusterQueues. All pending workloads are too large for their ClusterQueue, so the additional cost of
an event is the cost of having them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from tests.bench.memory import peak_mib
from tests.bench.played import Played, forest
from tests.bench.stopwatch import Stopwatch

_SIZES = ((10, 10_000), (1_000, 10_000), (10_000, 10_000), (1_000, 100_000))
_LARGE = ((10_000, 100_000), (100_000, 10_000), (1_000, 500_000), (10_000, 500_000), (100_000, 500_000))
"""Sizes that take minutes each."""
_DECISIONS = 2_000
_TURNS = 200


def rows(large: bool) -> None:
    """Print all rows."""
    print(
        f"\n{'growth':40} {'start s':>8} {'peak MiB':>9} {'submit us':>10} {'finish us':>10} {'edit us':>8}"
        f" {'decisions/s':>12}"
    )
    for queues, pending in (*_SIZES, *(_LARGE if large else ())):
        command = [sys.executable, "-m", "tests.bench.growth", str(queues), str(pending)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{f'{queues} queues, {pending} pending':40} {found['start']:8.1f} {found['peak']:9.0f}"
            f" {found['submit']:10.0f} {found['finish']:10.0f} {found['edit']:8.0f} {found['rate']:12.0f}",
            flush=True,
        )


def main() -> int:
    """Print the processor seconds until the first cycles are over, MiB, microseconds of events, decisions a second."""
    queues, pending = map(int, sys.argv[1:])
    began = time.process_time()
    played = forest(queues, 10, quota=5)
    for turn in range(pending):
        played.submitted(f"q{turn % queues}", 1_000)
    played.rest()
    start, peak = time.process_time() - began, peak_mib(os.getpid())
    submit, finish, edit = _events(played, queues)
    found = {"start": start, "peak": peak, "submit": submit, "finish": finish, "edit": edit}
    print(json.dumps({**found, "rate": _decisions_per_second(played, queues)}))
    return 0


def _events(played: Played, queues: int) -> tuple[float, float, float]:
    edit = Stopwatch()
    for turn in range(_TURNS):
        name = f"q{(turn + 5) % queues}"
        with edit.lap():
            played.queue(name, played.queues[name].cohort, 6 + turn % 7)
            played.rest()
    return *played.submit_and_finish(queues), edit.micros


def _decisions_per_second(played: Played, queues: int) -> float:
    """The decisions a second for one small workload in each ClusterQueue; all are admitted."""
    decided, watch = 0, Stopwatch()
    while decided < _DECISIONS:
        jobs = [played.submitted(f"q{place}", 1) for place in range(min(queues, _DECISIONS))]
        with watch.lap():
            decided += played.rest()
        for job in jobs:
            played.finish(job.key)
            played.drop(job.key)
        played.rest()
    return decided / (sum(watch.laps) / 1e9)


if __name__ == "__main__":
    sys.exit(main())
