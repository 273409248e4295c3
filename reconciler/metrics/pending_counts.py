"""Counts the Workloads that are not admitted or are finished. Counts change with each Workload, not at a scrape.

Source: Kueue v0.19, pkg/metrics/metrics.go and its callers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scheduling.cycle.cycle import OVERLAPPING
from scheduling.objects.inadmissible_reasons import PENDING_EVALUATION
from scheduling.objects.workload import ADMITTED, QUOTA_RESERVED, Workload
from scheduling.world.decisions import Decision, Wait
from scheduling.world.world import World


class Unadmitted(NamedTuple):
    """Why a workload is not admitted, and the underlying cause."""

    reason: str
    cause: str


class PendingPlace(NamedTuple):
    """Where a workload is counted.

    `queue`: its ClusterQueue.
    `local`: the name and the namespace of its LocalQueue.
    `why`: why it is not admitted; None for a finished workload.
    """

    queue: str
    local: tuple[str, str]
    why: Unadmitted | None


def unadmitted(workload: Workload) -> Unadmitted:
    """The reason and the cause, from the conditions, which may not exist yet."""
    admitted, reserved = workload.conditions.get(ADMITTED), workload.conditions.get(QUOTA_RESERVED)
    reason = admitted.reason if admitted is not None else "NoReservation"
    if workload.reserved:
        return Unadmitted(reason, "")
    return Unadmitted(reason, reserved.reason if reserved is not None else PENDING_EVALUATION)


class PendingCounts:
    """The counts, updated in the loop's thread. Other threads may read them at a scrape, and copy what they read."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._places: dict[str, PendingPlace] = {}
        self._counts: dict[PendingPlace, int] = {}
        self._skipped: Mapping[str, int] = {}

    def put(self, key: str, workload: Workload | None) -> None:
        before = self._places.pop(key, None)
        if before is not None:
            self._counts[before] -= 1
            if not self._counts[before]:
                del self._counts[before]
        if workload is not None and (workload.finished or not workload.admitted):
            why = None if workload.finished else unadmitted(workload)
            place = PendingPlace(self._queue_of(workload), (workload.queue, workload.namespace), why)
            self._places[key] = place
            self._counts[place] = self._counts.get(place, 0) + 1

    def decided(self, decisions: Sequence[Decision]) -> None:
        """A cycle is over: remember the workloads that it skipped because others had preempted their victims."""
        overlapping = (each for each in decisions if isinstance(each, Wait) and each.message == OVERLAPPING)
        self._skipped = Counter(each.queue for each in overlapping)

    def counts(self) -> Sequence[tuple[PendingPlace, int]]:
        return [*self._counts.items()]

    def by_queue(self) -> Mapping[tuple[str, Unadmitted | None], int]:
        found: Counter[tuple[str, Unadmitted | None]] = Counter()
        for place, count in self.counts():
            found[place.queue, place.why] += count
        return found

    @property
    def skipped(self) -> Mapping[str, int]:
        """The number of workloads that the last cycle skipped, by ClusterQueue."""
        return self._skipped

    def _queue_of(self, workload: Workload) -> str:
        if workload.admission is not None:
            return workload.admission.cluster_queue
        local = self._world.queues.local_queues.get(workload.local_queue)
        return local.cluster_queue if local is not None else ""
