"""What metrics with Kueue's names share: the prefix, the label for the role of the replica, and LocalQueue twins.

Source: Kueue v0.19, pkg/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol

from cluster.metrics import Family, Sample, Stability, Type
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


def gauge(name: str, help: str, *labels: str, switches: tuple[str, ...] = (), subsystem: str = "kueue") -> Family:
    """A gauge for ClusterQueues. `switches`: see `Family`. `subsystem`: the first word of its name."""
    name = f"{subsystem}_{name}"
    return Family(name, Type.GAUGE, help, (*labels, ROLE), stability=Stability.KUEUE, switches=switches)


def local_gauge(name: str, help: str, *labels: str, switches: tuple[str, ...] = ()) -> Family:
    return gauge(f"local_queue_{name}", help, *LOCAL_QUEUE, *labels, switches=(LOCAL_QUEUE_METRICS, *switches))


def counter(name: str, help: str, *labels: str, switches: tuple[str, ...] = (), subsystem: str = "kueue") -> Family:
    """A counter. `subsystem`: the first word of its name."""
    return Family(
        f"{subsystem}_{name}", Type.COUNTER, help, (*labels, ROLE), stability=Stability.KUEUE, switches=switches
    )


def waiting_times(
    name: str, help: str, *labels: str, buckets: tuple[float, ...] = WAITS, switches: tuple[str, ...] = ()
) -> Family:
    """A histogram of waiting times, in seconds."""
    name, labels = f"kueue_{name}", (*labels, ROLE)
    return Family(name, Type.HISTOGRAM, help, labels, buckets, stability=Stability.KUEUE, switches=switches)


def counter_twins(name: str, help: str, *labels: str) -> Twins:
    return _twins(counter, counter, name, help, *labels)


def waiting_time_twins(
    name: str,
    help: str,
    *labels: str,
    buckets: tuple[float, ...] = WAITS,
    local_buckets: tuple[float, ...] = WAITS,
) -> Twins:
    make, make_local = partial(waiting_times, buckets=buckets), partial(waiting_times, buckets=local_buckets)
    return _twins(make, make_local, name, help, *labels)


class _Make(Protocol):
    def __call__(self, name: str, help: str, /, *labels: str, switches: tuple[str, ...] = ()) -> Family: ...


def _twins(make: _Make, make_local: _Make, name: str, help: str, *labels: str) -> Twins:
    local = f"{help[:-1]}, by LocalQueue."
    return Twins(
        make(name, help, CLUSTER_QUEUE, *labels),
        make_local(f"local_queue_{name}", local, *LOCAL_QUEUE, *labels, switches=(LOCAL_QUEUE_METRICS,)),
    )


def seconds_between(since: int, until: int) -> float:
    """The seconds between two times in nanoseconds; 0 if the second one is earlier, because clocks may differ."""
    return max(0, until - since) / SECOND
