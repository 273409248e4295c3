"""Finds the worker that admitted a workload first, if several have admitted it.

Conditions have whole seconds, so equal workers often admit in the same second. Workers that run Quotree also report the
exact moment of the reservation.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.objects import times
from scheduling.objects.times import SECOND
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.placement.group import WorkerCluster
from scheduling.status.conditions import with_condition

RESERVED_AT = "quotree.dev/ReservedAt"
"""A condition of a copy whose message is the moment of the reservation, with microseconds. It is written together with
the reservation. An annotation would need a second write, since a status patch cannot change metadata."""


def with_moment(copy: Workload, now: int) -> Workload:
    """The copy with the condition RESERVED_AT for this moment. `now`: in nanoseconds."""
    return with_condition(copy, RESERVED_AT, "True", "QuotaReserved", times.exactly(now), now // SECOND * SECOND)


def reserved_at(copy: Workload) -> int:
    """The moment of the current reservation of the copy; 0 if it is not reported."""
    reported, held = copy.holding(RESERVED_AT), copy.holding(QUOTA_RESERVED)
    moment = times.parse(reported.message) if reported is not None else 0
    return moment if held is not None and moment // SECOND * SECOND == held.since else 0


def admitted_first(workers: Iterable[WorkerCluster]) -> WorkerCluster | None:
    """The worker that admitted first, by the second of the admission; None if none did.

    Ties are broken by the moment of the reservation, if all of the tied workers report one, then by the least work
    of this manager, then by name.
    """
    admitted = [(worker.admitted.since, worker) for worker in workers if worker.admitted is not None]
    if not admitted:
        return None
    second = min(since for since, _ in admitted)
    level = [worker for since, worker in admitted if since == second]
    moments = {worker.name: reserved_at(worker.workload) for worker in level if worker.workload is not None}
    known = all(moments.values())
    return min(level, key=lambda worker: (known and moments[worker.name], worker.load, worker.name))
