"""What metrics with Kueue's names share: the prefix, the label for the role of the replica, and LocalQueue twins.

Source: Kueue v0.19, pkg/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cluster.metrics import Family, Sample, Stability
from policies.configuration.kueue.values import LOCAL_QUEUE_METRICS
from scheduling.objects.times import SECOND

ROLE = "replica_role"
"""The last label of each metric. Sources omit it."""
LEADER, FOLLOWER = "leader", "follower"
"""The values of that label: the replica that writes, and all others."""
CLUSTER_QUEUE, COHORT, PRIORITY_CLASS = "cluster_queue", "cohort", "priority_class"
LOCAL_QUEUE = ("name", "namespace")
WHY = ("reason", "underlying_cause")
WAITS = (1.0, *(2.5 * 2**step for step in range(13)))
"""The bounds of buckets in seconds: 1, and 2.5 to 10 240, each twice the one before."""
LONG_WAITS = (*WAITS, 20_480.0, 40_960.0)
SHORT_TIMES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The default bounds of Prometheus' client for Go."""


class Twins(NamedTuple):
    """A metric by ClusterQueue, and the same by LocalQueue."""

    by_queue: Family
    by_local_queue: Family

    def samples(self, value: float, queue: str, local: tuple[str, str], *labels: str) -> Iterator[Sample]:
        """The samples of both metrics. `local`: the name and the namespace of the LocalQueue."""
        yield self.by_queue.sample(value, queue, *labels)
        yield self.by_local_queue.sample(value, *local, *labels)


def metric(
    name: str,
    help: str,
    *labels: str,
    buckets: tuple[float, ...] = (),
    switches: tuple[str, ...] = (),
    subsystem: str = "kueue",
) -> Family:
    """A metric of Kueue. `subsystem`: the first word of its name. `buckets`, `switches`: see `Family`."""
    name, labels = f"{subsystem}_{name}", (*labels, ROLE)
    return Family(name, help, labels, buckets, Stability.KUEUE, switches=switches)


def local_metric(
    name: str, help: str, *labels: str, buckets: tuple[float, ...] = (), switches: tuple[str, ...] = ()
) -> Family:
    """A metric of LocalQueues."""
    switches = (LOCAL_QUEUE_METRICS, *switches)
    return metric(f"local_queue_{name}", help, *LOCAL_QUEUE, *labels, buckets=buckets, switches=switches)


def twins(
    name: str,
    help: str,
    *labels: str,
    buckets: tuple[float, ...] = (),
    local_buckets: tuple[float, ...] | None = None,
) -> Twins:
    """`local_buckets`: those of the metric by LocalQueue, if they differ."""
    local, buckets_there = f"{help[:-1]}, by LocalQueue.", buckets if local_buckets is None else local_buckets
    return Twins(
        metric(name, help, CLUSTER_QUEUE, *labels, buckets=buckets),
        local_metric(name, local, *labels, buckets=buckets_there),
    )


def seconds_between(since: int, until: int) -> float:
    """The seconds between two times in nanoseconds; 0 if the second one is earlier, because clocks may differ."""
    return max(0, until - since) / SECOND
