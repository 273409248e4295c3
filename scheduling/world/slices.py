"""Counts the quota of slices of elastic jobs. While one takes over from another, shared usage counts once.

A larger slice gets quota first, then the earlier one is finished. The process may stop between these two writes. So the
later slice counts in full, and the earlier one only by the usage beyond that. Nothing counts twice, and no quota is
free in between. Source: Kueue v0.19, pkg/workloadslicing and pkg/scheduler; KEP-77.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.objects.amounts import Usage
from scheduling.objects.workload import Owner, Workload
from scheduling.quota.state import ClusterQueueState, QuotaState, Reservation

_Claim = tuple[str, str, tuple[Owner, ...]]
"""The namespace of a slice, the slice that it names, and its owners. Only slices of the same job share a claim."""


class WorkloadSlices:
    """Adds reservations to a `QuotaState` and removes them, with the rule above for slices."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._whole: dict[str, Reservation] = {}  # reservations of slices with their full usage
        self._later: dict[_Claim, str] = {}  # the slices that replace others

    def predecessor(self, workload: Workload, queue: ClusterQueueState) -> Reservation | None:
        """The slice with quota in this ClusterQueue that the workload replaces; None if there is none."""
        found = self._state.reservations.get(workload.replaces) if workload.replaces else None
        return found if found is not None and self._follows(workload, queue, found) else None

    def successor(self, workload: Workload) -> str | None:
        """The key of the slice with quota that takes over from this one; None if no slice does."""
        found = self._successor(workload)
        return found.workload.key if found is not None else None

    def _successor(self, workload: Workload) -> Reservation | None:
        for owners in (workload.owners, ()):  # a slice that a manager sent has no owner
            later = self._whole.get(self._later.get((workload.namespace, workload.key, owners), ""))
            if later is not None and later.workload.takes_over_from(workload):
                return later
        return None

    def reserve(self, reservation: Reservation) -> None:
        """Count the reservation instead of the former one, and of the slice that it replaces only the rest."""
        workload = reservation.workload
        former = self._whole.get(workload.key)
        sliced = workload.elastic or former is not None or self._successor(workload) is not None
        if not (self._state.options.elastic and sliced):
            self._state.reserve(reservation)
            return
        self._whole[workload.key] = reservation
        if before := workload.replaces:
            self._later[_claim(workload)] = workload.key
            named = self._state.reservations.get(before)
            if named is not None and workload.takes_over_from(named.workload):
                self._whole.setdefault(before, named)
        self._count(workload.key)
        self._count(workload.replaces)
        if former is not None and _claim(former.workload) != _claim(workload):
            self._withdraw(former.workload)

    def release(self, key: str) -> Reservation | None:
        """Remove and return the reservation; None if there is none. The slice that it replaced counts in full again."""
        reservation, whole = self._state.release(key), self._whole.pop(key, None)
        if whole is not None:
            self._withdraw(whole.workload)
        return reservation

    def _withdraw(self, later: Workload) -> None:
        """The slice no longer replaces another one, which counts in full again."""
        if self._later.get(_claim(later)) == later.key:
            del self._later[_claim(later)]
            self._count(later.replaces)

    def _count(self, key: str) -> None:
        whole = self._whole.get(key)
        if whole is None or (key not in self._state.reservations and self._gone(whole)):
            return
        later = self._successor(whole.workload)
        if later is not None and later.queue is whole.queue:
            places = () if later.places else whole.places
            whole = replace(whole, usage=_beyond(whole.usage, later.usage), places=places)
        self._state.reserve(whole)

    def _gone(self, reservation: Reservation) -> bool:
        """Whether its ClusterQueue was removed with all its reservations."""
        return self._state.queues.get(reservation.queue.name) is not reservation.queue

    def _follows(self, workload: Workload, queue: ClusterQueueState, before: Reservation) -> bool:
        queued = self._state.options.elastic and before.queue is queue
        return queued and workload.takes_over_from(before.workload)


def _claim(later: Workload) -> _Claim:
    return later.namespace, later.replaces, later.owners


def _beyond(usage: Usage, covered: Usage) -> Usage:
    """The part of `usage` that exceeds `covered`."""
    left = {pair: amount - covered.get(pair, 0) for pair, amount in usage.items()}
    return {pair: amount for pair, amount in left.items() if amount > 0}
