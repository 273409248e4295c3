"""Rows about the processor time of the scheduling engine alone, without an API server and without writes."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from scheduling.cycle import cycle
from scheduling.flavors.assigner import assign
from scheduling.flavors.assignment import FlavorAssignment
from scheduling.objects.queue_settings import CohortSettings
from scheduling.preemption.preemption import find_targets
from scheduling.quota.state import Options
from scheduling.status.reservation import unreserve
from scheduling.world.decisions import Reserve
from tests.bench import growth, starting
from tests.bench.played import PAIRS, Played, crowded, forest, tree
from tests.bench.stopwatch import Stopwatch

_FAIR = Options(fair_sharing=True)
_CYCLES = 3
"""The cycles of a row; its figure is their median."""


def rows(folder: Path, large: bool = False) -> None:
    """Print all rows. Files are written to `folder`. `large`: also sizes that take minutes each."""
    _start(folder, 10_000, 50_000)
    _events()
    _one_of_many(50_000)
    _nothing_unblocked()
    _flushes()
    _crowds(2_000)
    _searches(1_000)
    _cycles(1_000)
    growth.rows(large)


def _start(folder: Path, queues: int, workloads: int) -> None:
    """The start from manifests in a file, in a new process because its peak of memory is measured."""
    path = folder / "objects.jsonl"
    starting.write(path, queues, workloads)
    command = [sys.executable, "-m", "tests.bench.starting", str(path)]
    reported = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"\n{'engine, start from manifests':40} {'ready s':>8} {'first cycle s':>14} {'peak MiB':>9}")
    name = f"{queues} queues, {workloads} workloads"
    print(f"{name:40} {reported['ready']:8.1f} {reported['cycle']:14.1f} {reported['peak']:9.0f}", flush=True)


def _events() -> None:
    """Rows about events. An event includes the cycle that it causes, and the events of the writes of that cycle."""
    print(f"\n{'engine, us per event':28} {'decisions/s':>12} {'submit':>8} {'finish':>8} {'quota':>8} {'move':>8}")
    for depth in (2, 5):
        for count in (100, 1_000, 10_000):
            played = tree(count, depth)
            rate = _decisions_per_second(played, count)
            submit, finish = played.submit_and_finish(count)
            print(
                f"{f'{count} queues, depth {depth}':28} {rate:12.0f} {submit:8.0f} {finish:8.0f}"
                f" {_quota_edit(played):8.0f} {_move(played, depth):8.0f}",
                flush=True,
            )


def _decisions_per_second(played: Played, count: int) -> float:
    """The decisions a second of cycles with a head of every ClusterQueue; all heads are admitted."""
    for _ in range(4):
        for place in range(count):
            played.submitted(f"q{place}", 1)
    watch = Stopwatch()
    with watch.lap():
        decided = played.rest()
    for key in played.running():
        played.finish(key)
        played.drop(key)
    return decided / (watch.micros / 1e6)


def _quota_edit(played: Played) -> float:
    watch = Stopwatch()
    for turn in range(100):
        with watch.lap():
            played.queue("q7", played.queues["q7"].cohort, 5 + turn % 2)
            played.rest()
    return watch.micros


def _move(played: Played, depth: int) -> float:
    """Move a ClusterQueue to the root and back; in deep trees, its Cohort with all descendants."""
    watch, home = Stopwatch(), played.queues["q7"].cohort or ""
    above = played.cohorts[home].parent
    for turn in range(100):
        with watch.lap():
            if depth == 2:
                played.queue("q7", "other" if turn % 2 == 0 else home, 5)
            else:
                played.put_cohort(CohortSettings(home, "c" if turn % 2 == 0 else above, {}))
            played.rest()
    return watch.micros


def _one_of_many(count: int) -> None:
    """A row about one of many pending workloads. The 1 000 ClusterQueues are full, and every shape was tried."""
    played = forest(1_000, 10, quota=1)
    for turn in range(count):
        played.submitted(f"q{turn % 1_000}", 3 + turn // 10_000)
    played.rest()
    reported, raised = Stopwatch(), Stopwatch()
    for key in played.pending()[:100]:
        with reported.lap():
            played.put(unreserve(played.workloads[key], "Pending", f"told at {played.now}", played.now))
            played.rest()
        with raised.lap():
            played.put(replace(played.workloads[key], base=1))
            played.rest()
    print(f"\n{f'a change of one of {count} pending':40} {'ms with its cycle':>18}")
    print(f"{'its status':40} {reported.millis:18.3f}\n{'its priority':40} {raised.millis:18.3f}", flush=True)


def _nothing_unblocked() -> None:
    """Trees of 10 ClusterQueues with two pending jobs each that are too large. The moved Cohort has no children."""
    print(f"\n{'us of an event that unblocks nothing':40} {'finish':>8} {'quota':>8} {'submit':>8} {'move':>8}")
    for count in (10, 1_000, 10_000):
        played = forest(count, 10, quota=5)
        for place in range(count):
            played.submitted(f"q{place}", 4)
            played.submitted(f"q{place}", 40)
            played.submitted(f"q{place}", 41)
        played.rest()
        finish, quota, submit, move = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
        for turn in range(100):
            job = played.submitted("q3", 1)
            played.rest()
            with finish.lap():
                played.finish(job.key)
                played.rest()
            played.drop(job.key)
            with quota.lap():
                played.queue("q3", "c0", 6 + turn % 2)
                played.rest()
            with submit.lap():
                played.submitted("q3", 40)
                played.rest()
            with move.lap():
                played.put_cohort(CohortSettings("lonely", "above" if turn % 2 == 0 else None, {}))
                played.rest()
        print(
            f"{f'{count} queues':40} {finish.micros:8.0f} {quota.micros:8.0f} {submit.micros:8.0f} {move.micros:8.0f}",
            flush=True,
        )


def _flushes() -> None:
    """One ClusterQueue with so many shapes of pending workloads, and so many workloads of each shape."""
    print(f"\n{'flush of parked shapes':40} {'us':>10} {'us/shape':>10}")
    for shapes, each in ((1, 10), (1, 1_000), (10, 10), (10, 1_000), (100, 10), (100, 100)):
        played = forest(1, 1, quota=1)
        for shape in range(shapes):
            for _ in range(each):
                played.submitted("q0", 10 + shape)
        played.rest()
        watch = Stopwatch()
        for _ in range(10):
            with watch.lap():
                played.world.queues.wake("q0")
                played.rest()
        print(f"{f'{shapes} shapes of {each}':40} {watch.micros:10.0f} {watch.micros / shapes:10.0f}", flush=True)


def _crowds(count: int) -> None:
    """A tree of three levels. Running workloads finish in order of their creation, one or several at a time.

    A head is "tried" when it takes part in a cycle, and "searched" when flavors are searched for it.
    """
    print(f"\n{f'{count} pending, 30 queues in 3 levels':40} {'ms/admission':>13} {'tried':>8} {'searched':>8}")
    for fit in (count // 2, 60):
        for together in (1, 8):
            played = crowded(count, fit)
            played.rest()
            spent, tried, asked = _turned_over(played, together)
            row = f"{fit} fit, {together} finish at a time"
            print(f"{row:40} {spent:13.2f} {tried:8.1f} {asked:8.1f}", flush=True)


def _turned_over(played: Played, together: int) -> tuple[float, float, float]:
    """Milliseconds, heads tried and searches for each admission, including the events of its writes."""
    runs, admissions, tried = deque(played.running()), 0, 0
    watch = Stopwatch()
    with searches() as asked:
        while runs:
            for key in [runs.popleft() for _ in range(min(together, len(runs)))]:
                played.finish(key)
                played.drop(key)
            with watch.lap():
                while played.step():
                    pass
            new = [each.workload.key for each in played.decided if isinstance(each, Reserve)]
            tried += len(played.decided)
            played.decided.clear()
            runs += new
            admissions += len(new)
    return sum(watch.laps) / 1e6 / admissions, tried / admissions, len(asked) / admissions


@contextmanager
def searches() -> Iterator[list[None]]:
    """A list that gets an element for each search for flavors in a cycle."""
    made: list[None] = []

    def counted(*arguments: Any, **named: Any) -> FlavorAssignment:
        made.append(None)
        return assign(*arguments, **named)

    cycle.assign = counted  # type: ignore[attr-defined]
    try:
        yield made
    finally:
        cycle.assign = assign  # type: ignore[attr-defined]


def _searches(count: int) -> None:
    """Searches among `count` candidates of one unit each, of which one, ten or half must be preempted."""
    print(f"\n{f'preemption among {count} candidates, ms':40} {'1 victim':>10} {'10 victims':>10} {'half':>10}")
    for name, options, lenders in (
        ("classic, in the own queue", Options(), 0),
        ("classic, from 100 queues", Options(), 100),
        ("fair sharing, in the own queue", _FAIR, 0),
        ("fair sharing, from 100 queues", _FAIR, 100),
    ):
        times = [_search(options, lenders, count, leave) for leave in (1, 10, count // 2)]
        print(f"{name:40} {times[0]:10.2f} {times[1]:10.2f} {times[2]:10.2f}", flush=True)


def _search(options: Options, lenders: int, count: int, leave: int) -> float:
    """The time of a search. Running work of lower priority uses all quota of the preemptor's ClusterQueue.

    It runs in that ClusterQueue, or in `lenders` other ones that have borrowed the quota.
    """
    played = Played(options)
    played.queue("q", "c", count, flavors=1)
    for place in range(lenders):
        played.queue(f"lender{place}", "c", 0, flavors=1)
    for turn in range(count):
        played.submitted(f"lender{turn % lenders}" if lenders else "q", 1, priority=-1)
    played.rest()
    state, watch = played.world.state, Stopwatch()
    need = {PAIRS[0]: leave}
    for _ in range(10):
        with watch.lap():
            found = find_targets(state, played.job("q", leave), state.queues["q"], need, set(need))
        if len(found) != leave:
            raise RuntimeError(f"{len(found)} would be preempted, not {leave}")
    return watch.millis


def _cycles(count: int) -> None:
    """Cycles with so many heads: each borrows while there is quota to borrow, or each preempts one workload."""
    print(f"\n{f'one cycle over {count} heads':40} {'ms':>10} {'us/head':>10}")
    for name, options in (("classic", Options()), ("fair sharing", _FAIR)):
        for depth in (2, 5):
            for what, prepared in (("borrow", _borrowers), ("preempt", _preemptors)):
                watch = Stopwatch()
                for _ in range(_CYCLES):
                    played = prepared(count, depth, options)
                    gc.collect()  # otherwise one cycle in a few pays for what the preparation left
                    with watch.lap():
                        played.engine.step(played.now)
                row = f"{name}, depth {depth}, all {what}"
                print(f"{row:40} {watch.millis:10.1f} {watch.micros / count:10.0f}", flush=True)


def _borrowers(count: int, depth: int, options: Options) -> Played:
    """ClusterQueues whose heads must borrow; the quota is enough for half of them."""
    played = tree(count, depth, quota=0, options=options)
    played.queue("lender", "c", count // 4)
    for place in range(count):
        played.submitted(f"q{place}", 1)
    return played


def _preemptors(count: int, depth: int, options: Options) -> Played:
    """ClusterQueues that are full of work with lower priority than their heads."""
    played = tree(count, depth, quota=1, options=options)
    for priority in (-1, -1, 0):
        for place in range(count):
            played.submitted(f"q{place}", 1, priority)
        if priority < 0:
            played.rest()
    return played
