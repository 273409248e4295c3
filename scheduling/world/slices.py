"""Counts the quota of slices of elastic jobs. While one takes over from another, shared usage counts once.

A larger slice gets quota first, then the earlier one is finished. The process may stop between these two writes. So the
later slice counts in full, and the earlier one only by the usage beyond that. Nothing counts twice, and no quota is
free in between. Source: Kueue v0.19, pkg/workloadslicing and pkg/scheduler; KEP-77.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.objects.amounts import Usage
from scheduling.objects.workload import Workload
from scheduling.quota.state import ClusterQueueState, QuotaState, Reservation


class WorkloadSlices:
    """Adds reservations to a `QuotaState` and removes them, with the rule above for slices."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._whole: dict[str, Reservation] = {}  # reservations of slices with their full usage
        self._later: dict[str, str] = {}  # the slice that replaces each slice

    def predecessor(self, workload: Workload, queue: ClusterQueueState) -> Reservation | None:
        """The slice with quota in this ClusterQueue that the workload replaces; None if there is none."""
        found = self._state.reservations.get(workload.replaces) if workload.replaces else None
        return found if found is not None and self._follows(workload, queue, found) else None

    def successor(self, key: str) -> str | None:
        """The slice with quota that replaces this one; None if there is none."""
        return self._later.get(key)

    def reserve(self, reservation: Reservation) -> None:
        """Count the reservation instead of the former one, and of the slice that it replaces only the rest."""
        workload = reservation.workload
        sliced = workload.elastic or workload.key in self._later
        if not (self._state.options.elastic and sliced):
            self._state.reserve(reservation)
            return
        self._whole[workload.key] = reservation
        if before := workload.replaces:
            self._later[before] = workload.key
            if before not in self._whole and before in self._state.reservations:
                self._whole[before] = self._state.reservations[before]
        self._count(workload.key)
        self._count(workload.replaces)

    def release(self, key: str) -> Reservation | None:
        """Remove and return the reservation; None if there is none. The slice that it replaced counts in full again."""
        reservation, whole = self._state.release(key), self._whole.pop(key, None)
        if whole is not None and self._later.get(whole.workload.replaces) == key:
            del self._later[whole.workload.replaces]
            self._count(whole.workload.replaces)
        return reservation

    def _count(self, key: str) -> None:
        whole = self._whole.get(key)
        if whole is None or (key not in self._state.reservations and self._gone(whole)):
            return
        later = self._whole.get(self._later.get(key, ""))
        if later is not None and self._follows(later.workload, later.queue, whole):
            places = () if later.places else whole.places
            whole = replace(whole, usage=_beyond(whole.usage, later.usage), places=places)
        self._state.reserve(whole)

    def _gone(self, reservation: Reservation) -> bool:
        """Whether its ClusterQueue was removed with all its reservations."""
        return self._state.queues.get(reservation.queue.name) is not reservation.queue

    def _follows(self, workload: Workload, queue: ClusterQueueState, before: Reservation) -> bool:
        queued = self._state.options.elastic and before.queue is queue
        return queued and workload.takes_over_from(before.workload)


def _beyond(usage: Usage, covered: Usage) -> Usage:
    """The part of `usage` that exceeds `covered`."""
    left = {pair: amount - covered.get(pair, 0) for pair, amount in usage.items()}
    return {pair: amount for pair, amount in left.items() if amount > 0}
