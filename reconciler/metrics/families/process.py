"""This process: its version, its certificate, its part of the cluster and its loop.

The values are read while the loop runs, so they may belong to different steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from cluster.metrics import Family, Sample, Stability
from reconciler.metrics.occasions import BuildInfo, Certificate, ProcessScrape, RoundPassed
from reconciler.metrics.source import source

ROUNDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The bounds of the buckets in seconds. A round of an idle cluster takes about as long as the first one."""


def _family(name: str, help: str, *labels: str, buckets: tuple[float, ...] = ()) -> Family:
    return Family(f"quotree_reconciler_{name}", help, labels, buckets)


WRITES = _family("writes", "1 while this process may write.")
SYNCED = _family("synced", "1 when every kind was listed.")
PAUSED = _family("paused", "1 while the API server fails and writes are paused.")
INBOX = _family("inbox", "Changes and responses that the loop has not processed yet.")
UNDER_WAY = _family("under_way", "Writes that were sent and have no response yet.")
WRITTEN = _family("written_total", "Writes that were carried out.")
FAILED = _family("failed_total", "Writes that failed, or whose outcome is unknown.")
CYCLES = _family("cycles_total", "Scheduling cycles.")
ROUND_SECONDS = _family("round_seconds", "Time of a round of the loop, without waiting.", buckets=ROUNDS)


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


BUILD = Family(
    "kueue_build_info",
    "1; the version that runs in the place of Kueue.",
    ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform"),
    stability=Stability.KUEUE,
)


@source(BuildInfo, BUILD)
def build(build: BuildInfo) -> Iterator[Sample]:
    yield BUILD.sample(1, f"quotree-{build.version}", "", "", build.python, build.implementation, build.machine)


EXPIRY = _family(
    "certificate_expiry_timestamp_seconds",
    "When the certificate of /v1 expires, in Unix seconds; not where /v1 is served without one.",
)


@source(Certificate, EXPIRY)
def expiry(certificate: Certificate) -> Iterator[Sample]:
    yield EXPIRY.sample(certificate.expires)


PART = _family("part_info", "1; the part whose trees this process decides for.", "part")
PART_QUEUES = _family(
    "part_cluster_queues",
    "ClusterQueues that a part holds, as reported by a process that writes; decided is false if no part decides for "
    "their trees: during a handover, or while two parts hold one tree.",
    *("part", "decided"),
)


@source(ProcessScrape, PART, PART_QUEUES)
def parts(process: ProcessScrape) -> Iterator[Sample]:
    partition = process.reconciler.core.state.partition
    yield PART.sample(1, partition.me)
    counts = {(partition.me, True): 0, **partition.counts()} if process.writes else {(partition.me, True): 0}
    for (part, decided), count in counts.items():
        yield PART_QUEUES.sample(count, part or "nobody", str(decided).lower())
