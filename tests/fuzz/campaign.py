"""Runs inputs by their number: each under a bound of time, all in memory that stays flat."""

from __future__ import annotations

import gc
import logging
import random
import resource
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz import corpus
from tests.fuzz.mutations import Mutator
from tests.fuzz.targets import Target, targets

BOUND = 10.0
"""Seconds of processor time for one input; most take less than a millisecond."""
BUSY = 30
"""How many times as long an input may take by the clock, on a machine with other work."""
GROWTH = 64 * 2**20
"""Bytes by which a process may grow after its first fifth: caches of bounded size fill until then."""
_EVERY = 50_000
"""Inputs between two words of how far it is."""
_SHOWN = 10
"""Failures that are kept in full, one for each place."""


class Hang(BaseException):
    """An input took longer than its bound; not an Exception, so that nothing on the way takes it for its own."""


@dataclass
class Outcome:
    """`failures`: by their place, how to play one again, and its traceback. `grown` in bytes; `slowest` in seconds,
    with its number."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    failed: int = 0
    grown: int = 0
    slowest: tuple[float, int] = (0.0, 0)

    def add(self, other: Outcome) -> None:
        self.counts += other.counts
        self.failures = {**other.failures, **self.failures}
        self.failed += other.failed
        self.grown = max(self.grown, other.grown)
        self.slowest = max(self.slowest, other.slowest)


def share(part: tuple[str, range]) -> Outcome:
    """What one of several processes runs; it says how far it is."""
    seed, numbers = part
    return run(seed, numbers, lambda done: print(f"  {done} of {len(numbers)}", flush=True))


def run(seed: str, numbers: range, progress: Callable[[int], None] = lambda _: None) -> Outcome:
    """The inputs with these numbers. `progress` is told now and then how many are done."""
    with _quiet(logging.getLogger("webhook")):
        return _run(seed, numbers, progress)


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """A million refusals are not logged; afterwards the logger is as before."""
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.propagate = propagate


def _run(seed: str, numbers: range, progress: Callable[[int], None]) -> Outcome:
    outcome, available = Outcome(), targets(seed)
    settled = numbers[len(numbers) // 5] if len(numbers) else 0
    before = resident()
    for done, number in enumerate(numbers):
        if number == settled:
            before = resident()
        started = time.perf_counter()
        _one(seed, number, available, outcome)
        outcome.slowest = max(outcome.slowest, (time.perf_counter() - started, number))
        if done and done % _EVERY == 0:
            progress(done)
    gc.collect()
    outcome.grown = resident() - before
    return outcome


def _one(seed: str, number: int, available: Iterable[tuple[str, int, Target]], outcome: Outcome) -> None:
    chance = random.Random(f"{seed}:{number}")
    names, shares, takers = zip(*available, strict=True)
    (index,) = chance.choices(range(len(names)), shares)
    try:
        with bounded(BOUND):
            status = takers[index](chance, Mutator(chance, corpus.manifests()))
        outcome.counts[f"{names[index]}: {status}"] += 1
    except (Exception, Hang) as error:
        outcome.failed += 1
        place = _place(error)
        outcome.counts[f"{names[index]}: FAILED"] += 1
        if len(outcome.failures) < _SHOWN and place not in outcome.failures:
            again = f"python -m tests.fuzz --seed {seed} --only {number}  ({names[index]})"
            outcome.failures[place] = f"{again}\n{traceback.format_exc()}"


def _place(error: BaseException) -> str:
    """Where it comes from: of an internal error of the webhook the last lines of its traceback."""
    reported = str(error).rstrip().split("\n")[-3:] if isinstance(error, AssertionError) else []
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} {frame.filename}:{frame.lineno} {' '.join(reported[:2])}"


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raises Hang in what takes more processor time, or BUSY times as long. Only for the main thread."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"longer than {seconds} s")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, seconds * BUSY)}
    before = {number: signal.signal(number, ring) for number, _ in timers.values()}
    for timer, (_, bound) in timers.items():
        signal.setitimer(timer, bound)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
