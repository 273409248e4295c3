"""How many workloads this manager has on each worker, so that work is spread over equal workers."""

from __future__ import annotations

from collections import Counter

from scheduling.objects.workload import Workload


class Loads:
    """The load of each worker, from stored workloads and from choices whose writes are in flight.

    `placed`: the number of unfinished workloads on each worker.
    `asked`: the number of workloads without a worker that were first offered to this worker.
    """

    def __init__(self) -> None:
        self.placed: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._placed: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def observe(self, name: str, local: Workload | None) -> None:
        """Process a workload as it is stored on this cluster; None if it is gone."""
        waits = local is not None and local.reserved and not local.finished
        cluster = local.cluster if local is not None and not local.finished else ""
        _put(self._placed, self.placed, name, cluster)
        if cluster or not waits:
            _put(self._asked, self.asked, name, "")

    def choose(self, name: str, cluster: str) -> None:
        """A worker was chosen for the workload. The write is in flight."""
        _put(self._placed, self.placed, name, cluster)

    def ask(self, name: str, cluster: str) -> None:
        """The workload was offered to a worker. Only the first offer counts."""
        if name not in self._asked:
            _put(self._asked, self.asked, name, cluster)


def _put(known: dict[str, str], counts: Counter[str], name: str, cluster: str) -> None:
    before = known.pop(name, "")
    if before:
        counts[before] -= 1
    if cluster:
        known[name] = cluster
        counts[cluster] += 1
