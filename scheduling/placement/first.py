"""Which worker got a workload first, where several have admitted it.

Conditions have whole seconds, so workers that are alike are often level. Workers that run Quotree say more exactly when
they reserved the quota.
"""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.objects import times
from scheduling.objects.times import SECOND
from scheduling.objects.workload import QUOTA_RESERVED, Workload
from scheduling.placement.group import WorkerCluster
from scheduling.status.conditions import with_condition

RESERVED_AT = "quotree.dev/ReservedAt"
"""A condition of a copy: its message is the moment of the reservation, with microseconds. It is written together with
the reservation; an annotation would be a write of its own, since a status patch changes no metadata."""


def with_moment(copy: Workload, now: int) -> Workload:
    """The copy whose status says that quota is reserved at this moment; `now` in nanoseconds."""
    return with_condition(copy, RESERVED_AT, "True", "QuotaReserved", times.exactly(now), now // SECOND * SECOND)


def reserved_at(copy: Workload) -> int:
    """The moment of its reservation; 0 where nobody says it, or where it is that of an earlier reservation."""
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
