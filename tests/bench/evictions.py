"""The number of preemptions by the speed of the API server: the mix of Kueue's own scale test, in virtual time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from statistics import fmean

from policies.model.pools import Terms
from scheduling.objects.times import SECOND
from scheduling.status.deadlines import release
from scheduling.world.decisions import Decision, Preempt, Reserve
from tests.bench.admission.offered import SIZES
from tests.bench.played import RECLAIM
from tests.scheduling.cluster import FLAVORS, Cluster, queue_settings
from tests.scheduling.manifests import pod_set, workload

_RATES = (75.0, 150.0, 300.0, 600.0, math.inf)
_SHARE = 10
"""The divisor of the number of workloads in Kueue's test."""


class _SlowlyWritten(Cluster):
    """A cluster whose decisions take effect at once, while their writes are stored in order, `rate` a second.

    `waits`: the seconds from the creation of each workload to its last admission, by class.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.waits: dict[str, list[float]] = {name: [] for name, *_ in SIZES}
        self.evictions = 0
        self._write_takes = int(SECOND / rate)
        self._stored = self.now
        self._numbers = count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._seconds = {name: int(runs * SECOND) for name, _, _, _, runs, _ in SIZES}
        self._attempts: dict[str, int] = {}
        self._admitted: dict[str, int] = {}
        self._classes: dict[str, str] = {}
        for place in range(30):
            terms = {FLAVORS[0]: Terms(20, borrowing=100)}
            self.put_queue(queue_settings(f"q{place}", f"c{place // 6}", terms, preemption=RECLAIM))
            for name, each, cpu, priority, _, between in SIZES:
                template = replace(workload(pod_set(gpu=str(cpu))), queue=f"q{place}", base=priority)
                for turn in range(each // _SHARE):
                    comes = self.now + int(turn * between * SECOND)
                    made = replace(template, name=f"{name}-{place}-{turn}", uid=f"{name}-{place}-{turn}", created=comes)
                    self._classes[made.key] = name
                    self._at(comes, partial(self._write, partial(self.write, made)))

    def tick(self) -> None:
        """Do nothing: time advances with the events, not with each action."""

    def play(self) -> float:
        """Run until all have finished. Returns the seconds of virtual time."""
        began = self.now
        while self._events:
            self.now, _, happen = heapq.heappop(self._events)
            happen()
            while self.step():
                for decision in self.decided:
                    self._store(decision)
                self.decided.clear()
        return (self.now - began) / SECOND

    def _at(self, moment: int, happen: Callable[[], None]) -> None:
        heapq.heappush(self._events, (moment, next(self._numbers), happen))

    def _write(self, stored: Callable[[], None]) -> None:
        self._stored = max(self._stored, self.now) + self._write_takes
        self._at(self._stored, stored)

    def _store(self, decision: Decision) -> None:
        if isinstance(decision, Reserve):
            key, attempt = decision.workload.key, next(self._numbers)
            self._attempts[key] = attempt
            self._admitted[key] = self.now
            self._write(partial(self._start, key, attempt))
        elif isinstance(decision, Preempt):
            self.evictions += 1
            self._write(partial(self._write, partial(self._stop, decision.target.key)))

    def _start(self, key: str, attempt: int) -> None:
        runs = self._seconds[self._classes[key]]
        self._at(self.now + runs, partial(self._end, key, attempt))

    def _end(self, key: str, attempt: int) -> None:
        if self._runs(key, attempt):
            self._write(partial(self._finish, key, attempt))

    def _finish(self, key: str, attempt: int) -> None:
        if self._runs(key, attempt):
            waited = self._admitted[key] - self.workloads[key].created
            self.waits[self._classes[key]].append(waited / SECOND)
            self.finish(key)
            self.drop(key)

    def _stop(self, key: str) -> None:
        self.write(release(self.workloads[key], self.now))

    def _runs(self, key: str, attempt: int) -> bool:
        """Whether the workload still runs since this attempt: it was not admitted again."""
        return self._attempts[key] == attempt and not self.workloads[key].evicted


def rows() -> None:
    """Print all rows."""
    print(
        f"\n{'preemptions, by writes a second':40} {'evictions':>9} {'wall s':>7}  mean wait s of large, medium, small"
    )
    for rate in _RATES:
        played = _SlowlyWritten(rate)
        wall = played.play()
        waits = ", ".join(f"{fmean(played.waits[name]):.1f}" for name in ("large", "medium", "small"))
        name = "no limit" if rate == math.inf else f"{rate:.0f}/s"
        print(f"{name:40} {played.evictions:9} {wall:7.0f}  {waits}", flush=True)


if __name__ == "__main__":
    rows()
