"""How much work of this manager each worker has, so that work is spread over workers that are alike."""

from __future__ import annotations

from collections import Counter

from scheduling.objects.workload import Workload


class Loads:
    """`placed`: workloads by the worker that has them, until they are finished. `asked`: those that are not placed yet,
    by the worker that was the first to be asked for them.

    It follows from what is stored, but for choices that are on their way there.
    """

    def __init__(self) -> None:
        self.placed: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._placed: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def observe(self, name: str, local: Workload | None) -> None:
        """So the workload is stored here; None where it is gone."""
        waits = local is not None and local.reserved and not local.finished
        cluster = local.cluster if local is not None and not local.finished else ""
        _put(self._placed, self.placed, name, cluster)
        if cluster or not waits:
            _put(self._asked, self.asked, name, "")

    def choose(self, name: str, cluster: str) -> None:
        """It is about to be stored that the worker has it."""
        _put(self._placed, self.placed, name, cluster)

    def ask(self, name: str, cluster: str) -> None:
        """The worker is asked for it; what counts is who was the first."""
        if name not in self._asked:
            _put(self._asked, self.asked, name, cluster)


def _put(known: dict[str, str], counts: Counter[str], name: str, cluster: str) -> None:
    before = known.pop(name, "")
    if before:
        counts[before] -= 1
    if cluster:
        known[name] = cluster
        counts[cluster] += 1
