"""The state of this process's loop, read while the loop runs, so one number may be a step ahead of another."""

from __future__ import annotations

import time
from collections.abc import Iterator

from cluster.metrics import Family, Sample, Type
from reconciler.metrics.occasions import ProcessScrape, RoundPassed
from reconciler.metrics.source import source

ROUNDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; a round of an idle cluster takes about the first."""


def _gauge(name: str, help: str) -> Family:
    return Family(f"quotree_reconciler_{name}", Type.GAUGE, help)


def _counter(name: str, help: str) -> Family:
    return Family(f"quotree_reconciler_{name}", Type.COUNTER, help)


WRITES = _gauge("writes", "1 while this process may write.")
SYNCED = _gauge("synced", "1 when every kind was listed.")
PAUSED = _gauge("paused", "1 while the API server fails and writes are paused.")
INBOX = _gauge("inbox", "Changes and answers that wait to be taken in.")
UNDER_WAY = _gauge("under_way", "Writes that were sent and not answered yet.")
WRITTEN = _counter("written_total", "Writes that were carried out.")
FAILED = _counter("failed_total", "Writes that failed, or whose outcome is unknown.")
CYCLES = _counter("cycles_total", "Cycles of the engine.")
ROUND_SECONDS = Family(
    "quotree_reconciler_round_seconds", Type.HISTOGRAM, "Time of a round of the loop, without waiting.", buckets=ROUNDS
)


@source(ProcessScrape, WRITES, SYNCED, PAUSED, INBOX, UNDER_WAY, WRITTEN, FAILED, CYCLES)
def vitals(process: ProcessScrape) -> Iterator[Sample]:
    core = process.reconciler.core
    yield WRITES.sample(process.writes)
    yield SYNCED.sample(process.reconciler.ready)
    yield PAUSED.sample(core.paused(time.time_ns()))
    yield INBOX.sample(process.reconciler.loop.inbox.qsize())
    yield UNDER_WAY.sample(core.in_flight)
    yield WRITTEN.sample(core.stats.written)
    yield FAILED.sample(core.stats.failed)
    yield CYCLES.sample(core.stats.cycles)


@source(RoundPassed, ROUND_SECONDS)
def rounds(passed: RoundPassed) -> Iterator[Sample]:
    yield ROUND_SECONDS.sample(passed.seconds)
