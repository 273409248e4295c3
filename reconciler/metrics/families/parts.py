"""The part of the cluster that this process is, and the number of ClusterQueues of each part."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample, Type
from reconciler.metrics.occasions import ProcessScrape
from reconciler.metrics.source import source

INFO = Family(
    "quotree_reconciler_part_info", Type.GAUGE, "1; the part whose trees this process decides for.", ("part",)
)
QUEUES = Family(
    "quotree_reconciler_part_cluster_queues",
    Type.GAUGE,
    "ClusterQueues that a part holds, as a process that writes sees it; whether anybody decides for their trees, or "
    "they are handed over, or two parts hold one tree.",
    ("part", "decided"),
)


@source(ProcessScrape, INFO, QUEUES)
def parts(process: ProcessScrape) -> Iterator[Sample]:
    partition = process.reconciler.core.state.partition
    yield INFO.sample(1, partition.me)
    counts = {(partition.me, True): 0, **partition.counts()} if process.writes else {(partition.me, True): 0}
    for (part, decided), count in counts.items():
        yield QUEUES.sample(count, part or "nobody", str(decided).lower())
