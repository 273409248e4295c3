"""The amount of work that this manager has on each worker, so that work is spread over equal workers."""

from __future__ import annotations

from collections import Counter

from scheduling.objects.workload import Workload


class Loads:
    """The load of each worker. It follows from what is stored, and from choices whose writes are in flight.

    `placed`: the worker that has each workload, until the workload is finished.
    `asked`: the worker that was asked first, for each workload that is not placed yet.
    """

    def __init__(self) -> None:
        self.placed: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._placed: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def observe(self, name: str, local: Workload | None) -> None:
        """Take in a workload as it is stored here, None if it is gone."""
        waits = local is not None and local.reserved and not local.finished
        cluster = local.cluster if local is not None and not local.finished else ""
        _put(self._placed, self.placed, name, cluster)
        if cluster or not waits:
            _put(self._asked, self.asked, name, "")

    def choose(self, name: str, cluster: str) -> None:
        """The worker has been chosen for the workload; the write is in flight."""
        _put(self._placed, self.placed, name, cluster)

    def ask(self, name: str, cluster: str) -> None:
        """The worker is asked to admit the workload; only the first one asked counts."""
        if name not in self._asked:
            _put(self._asked, self.asked, name, cluster)


def _put(known: dict[str, str], counts: Counter[str], name: str, cluster: str) -> None:
    before = known.pop(name, "")
    if before:
        counts[before] -= 1
    if cluster:
        known[name] = cluster
        counts[cluster] += 1
