"""The owner graph: the parents and children of jobs, by the controller that each job names, and by their requests.

Source: Kueue v0.19, FindAncestorJobManagedByKueue. Kueue accepts any number of children of any size; here only the
children that fit into the admission of the job above belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from policies.amounts.ancestry import DEEPEST
from policies.amounts.requests import total
from reconciler.controllers.jobs.record import JobRecord, VisibleJob
from reconciler.controllers.jobs.store import JobStore
from reconciler.jobs.step import JobStep
from scheduling.objects.times import SECOND
from scheduling.objects.workload import OWNER_NOT_FOUND

PATIENCE = 2 * SECOND
"""Each kind has its own watch, so a child may be observed before its owner."""

_TOO_DEEP = JobStep(
    None,
    "JobNestingTooDeep",
    f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}",
    warning=True,
)


class Owners:
    """The jobs of a store as a graph.

    A job whose controller is not visible waits until the API server answers whether the controller exists.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def above(self, record: JobRecord) -> JobRecord | None:
        """The controller that the job names, visible or not."""
        owner = record.visible.owner if record.visible is not None else None
        return self._store.jobs.get(owner) if owner is not None else None

    def _visible_above(self, record: JobRecord) -> JobRecord | None:
        above = self.above(record)
        return above if above is not None and above.visible is not None else None

    def below(self, record: JobRecord) -> Iterator[JobRecord]:
        """All jobs below: those that name the job, or a job below it, as their controller."""
        waiting, seen = [record], {record.id}
        while waiting:
            for child in waiting.pop().children:
                if child not in seen:
                    seen.add(child)
                    waiting.append(self._store.jobs[child])
                    yield self._store.jobs[child]

    def beside(self, record: JobRecord) -> Iterator[JobRecord]:
        """The job above whose slices follow the size of this one, and the other jobs that it may belong with."""
        above = self._visible_above(record)
        if above is not None and _visible(above).grows:
            yield above
            yield from self.below(above)

    def gated_children(self, record: JobRecord) -> list[JobRecord]:
        """The children whose Pods the slices of this job hold back, and whose size it takes over."""
        if not _visible(record).grows:
            return []
        children = (self._store.jobs[each] for each in record.children)
        return [child for child in children if _visible(child).gated]

    def unseen(self, record: JobRecord, now: int) -> int | None:
        """The moment until which nothing is concluded, because the job's controller is not visible; in nanoseconds."""
        owner = self.above(record)
        if owner is None or owner.visible is not None or owner.exists is not None:
            return None
        self._store.wait(owner, now)
        until = (owner.since or now) + PATIENCE
        return until if now < until else None

    def missing(self, record: JobRecord) -> bool:
        """Whether the job names a controller that is known not to exist. Such a job neither runs nor queues.

        The garbage collector deletes such a child, or removes its reference.
        """
        owner = self.above(record)
        return owner is not None and owner.visible is None and not owner.exists

    def top(self, record: JobRecord) -> JobRecord | None:
        """The job above that this one was admitted with; None if it is to be admitted by itself."""
        if record.visible is None or record.visible.owner is None:
            return None
        way = self._way(record)
        return way[-1] if len(way) > 1 and self._fits(record, way) else None

    def warnings(self, record: JobRecord) -> list[JobStep]:
        """The warnings about a job with more ancestors than are examined, or with a missing owner."""
        owner = self.above(record)
        if owner is None:
            return []
        if owner.visible is None:
            missing = f"{owner.id.kind.partition('.')[0]} {owner.id.name.partition('/')[2]}"
            message = f"workload owner not found: {missing}"
            return [JobStep(None, OWNER_NOT_FOUND, message, warning=True)] if owner.exists is False else []
        seen, above = {record.id}, self._visible_above(record)
        while above is not None and above.id not in seen and len(seen) <= DEEPEST:
            seen.add(above.id)
            above = self._visible_above(above)
        return [_TOO_DEEP] if above is not None and above.id not in seen else []

    def _way(self, record: JobRecord) -> list[JobRecord]:
        """The path from the job up to the topmost ancestor that may be admitted for it; only the job if it has none."""
        way, length = [record], 1
        while len(way) <= DEEPEST:
            above = self._visible_above(way[-1])
            if above is None:
                break
            if above in way:
                return [record]
            way.append(above)
            if _visible(above).queued:
                length = len(way)
        return way[:length]

    def _fits(self, record: JobRecord, way: list[JobRecord]) -> bool:
        """Whether the job fits into the admission of the one above, with the siblings that run and came first.

        Jobs that wait come after all that run. Pods that slices hold back take as much as the slices, however many they
        are; the remainder is for the others.
        """
        head, branch, mine = _visible(way[-1]), way[-2], _visible(record)
        gated = self.gated_children(way[-1])
        if record in gated:
            return True
        siblings = (self._store.jobs[each] for each in way[-1].children)
        first = [
            each
            for each in siblings
            if each not in gated
            and (each is branch or not mine.running or _visible(each).created < _visible(branch).created)
        ]
        taken = total(self._weight(each, record, {way[-1].id}) for each in first)
        given = total((head.own_requests, head.slice_requests if gated else {}))
        return all(
            amount <= (head.requests.get(name, 0) - given.get(name, 0)) * head.generations
            for name, amount in taken.items()
        )

    def _weight(self, record: JobRecord, asking: JobRecord, seen: set[object]) -> dict[str, int]:
        """The requests of a job and its subtree. The subtree is a part of the job, unless it requests more."""
        seen.add(record.id)
        visible = _visible(record)
        own = visible.requests if visible.running or record is asking else {}
        below = total(
            self._weight(self._store.jobs[each], asking, seen) for each in record.children if each not in seen
        )
        return {name: max(own.get(name, 0), below.get(name, 0)) for name in {**own, **below}}


def _visible(record: JobRecord) -> VisibleJob:
    """The controller that a visible job names."""
    assert record.visible is not None
    return record.visible
