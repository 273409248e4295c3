"""The owner graph: the parents and children of jobs, and whether a child runs under the quota of a job above it.

The parent of a job is the controller in its owner references. A child needs no quota of its own if its requests fit
into those of the admitted job above it. Source: Kueue v0.19, FindAncestorJobManagedByKueue. Kueue accepts any number of
children of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policies.amounts.ancestry import DEEPEST
from policies.amounts.requests import total
from reconciler.controllers.jobs.record import JobId, JobRecord, VisibleJob
from reconciler.controllers.jobs.store import JobStore
from reconciler.jobs.step import JobStep
from scheduling.objects.times import SECOND
from scheduling.objects.workload import OWNER_NOT_FOUND

PATIENCE = 2 * SECOND
"""How long to wait for a job's owner. Each kind has its own watch, so a child may be observed before its owner."""

_TOO_DEEP = JobStep(
    None,
    "JobNestingTooDeep",
    f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {DEEPEST}",
    warning=True,
)


class Owners:
    """The jobs of a store as a graph.

    If the controller of a job is not visible, the job waits until the API server answers whether the controller exists.
    """

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._known: dict[JobId, _Shares] = {}
        self._revision = 0

    def above(self, record: JobRecord) -> JobRecord | None:
        """The job's controller, whether a watch shows it or not."""
        owner = record.visible.owner if record.visible is not None else None
        return self._store.jobs.get(owner) if owner is not None else None

    def _visible_above(self, record: JobRecord) -> JobRecord | None:
        above = self.above(record)
        return above if above is not None and above.visible is not None else None

    def below(self, record: JobRecord) -> Iterator[JobRecord]:
        """All descendants of the job."""
        waiting, seen = [record], {record.id}
        while waiting:
            for child in waiting.pop().children:
                if child not in seen:
                    seen.add(child)
                    waiting.append(self._store.jobs[child])
                    yield self._store.jobs[child]

    def beside(self, record: JobRecord) -> Iterator[JobRecord]:
        """If the slices of the parent follow the size of this job: the parent and all its descendants."""
        above = self._visible_above(record)
        if above is not None and _visible(above).grows:
            yield above
            yield from self.below(above)

    def gated_children(self, record: JobRecord) -> list[JobRecord]:
        """The children whose Pods wait at the gate of this job's slices. The slices take over the children's size."""
        if not _visible(record).grows:
            return []
        children = (self._store.jobs[each] for each in record.children)
        return [child for child in children if _visible(child).gated]

    def unseen(self, record: JobRecord, now: int) -> int | None:
        """The end of the wait for the job's controller to become visible, in nanoseconds; None if it need not wait."""
        owner = self.above(record)
        if owner is None or owner.visible is not None or owner.exists is not None:
            return None
        self._store.wait(owner, now)
        until = (owner.since or now) + PATIENCE
        return until if now < until else None

    def missing(self, record: JobRecord) -> bool:
        """Whether the job's controller is known not to exist. Such a job is neither started nor queued.

        The garbage collector deletes the job, or removes its reference to the controller.
        """
        owner = self.above(record)
        return owner is not None and owner.visible is None and not owner.exists

    def top(self, record: JobRecord) -> JobRecord | None:
        """The ancestor that was admitted for this job as well; None if the job needs quota of its own."""
        if record.visible is None or record.visible.owner is None:
            return None
        path = self._path(record)
        return path[-1] if len(path) > 1 and self._fits(record, path) else None

    def warnings(self, record: JobRecord) -> list[JobStep]:
        """The warnings about a missing owner, or about more ancestors than are examined."""
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

    def _path(self, record: JobRecord) -> list[JobRecord]:
        """The path from the job to its topmost ancestor that is queued; only the job itself if there is none."""
        path, length = [record], 1
        while len(path) <= DEEPEST:
            above = self._visible_above(path[-1])
            if above is None:
                break
            if above in path:
                return [record]
            path.append(above)
            if _visible(above).queued:
                length = len(path)
        return path[:length]

    def _fits(self, record: JobRecord, path: list[JobRecord]) -> bool:
        """Whether the job fits into the admission of the topmost ancestor, together with siblings that come before it.

        Running siblings come before waiting ones, then older ones before younger ones. Children that wait at the gate
        of slices use what the slices request, whatever their number. The other children share the rest.
        """
        topmost, own_branch = _visible(path[-1]), path[-2]
        shares = self._shares(path[-1])
        if record in shares.gated:
            return True
        if _visible(record).running:
            requested = total((shares.older[own_branch], shares.running[own_branch]))
        else:
            branch = {} if own_branch in shares.gated else self._subtree_requests(own_branch, record)
            requested = total((shares.sum, branch))
            for name, amount in shares.running[own_branch].items():
                requested[name] -= amount
        kept_back = total((topmost.own_requests, topmost.slice_requests if shares.gated else {}))
        return all(
            amount <= (topmost.requests.get(name, 0) - kept_back.get(name, 0)) * topmost.generations
            for name, amount in requested.items()
        )

    def _shares(self, topmost: JobRecord) -> _Shares:
        """Computed once for all children, because there may be thousands of them."""
        if self._revision != self._store.revision:
            self._known.clear()
            self._revision = self._store.revision
        found = self._known.get(topmost.id)
        if found is None:
            found = self._known[topmost.id] = _Shares(frozenset(self.gated_children(topmost)))
            children = sorted((self._store.jobs[each] for each in topmost.children), key=_age)
            for child in children:
                found.older[child] = found.sum
                found.running[child] = {} if child in found.gated else self._subtree_requests(child)
                found.sum = total((found.sum, found.running[child]))
        return found

    def _subtree_requests(
        self, record: JobRecord, candidate: JobRecord | None = None, depth: int = DEEPEST
    ) -> dict[str, int]:
        """The requests of a job with its descendants: the job's own, or the sum of its children if that is larger.

        Only running jobs count, and `candidate`, the job that may fit.
        """
        visible = _visible(record)
        own = visible.requests if visible.running or record is candidate else {}
        children = record.children if depth > 1 else ()
        below = total(self._subtree_requests(self._store.jobs[each], candidate, depth - 1) for each in children)
        return {name: max(own.get(name, 0), below.get(name, 0)) for name in {**own, **below}}


@dataclass(slots=True)
class _Shares:
    """What the children of a job use of its quota. Only running jobs count.

    `gated`: see `Owners.gated_children`. They have no share.
    `running`: the share of each child with its descendants.
    `older`: the sum of the shares of older children.
    `sum`: the sum of all shares.
    """

    gated: frozenset[JobRecord]
    running: dict[JobRecord, Mapping[str, int]] = field(default_factory=dict)
    older: dict[JobRecord, Mapping[str, int]] = field(default_factory=dict)
    sum: Mapping[str, int] = field(default_factory=dict)


def _age(record: JobRecord) -> tuple[tuple[str, str], JobId]:
    return _visible(record).created, record.id


def _visible(record: JobRecord) -> VisibleJob:
    """The job as a watch shows it. The caller knows that a watch does."""
    assert record.visible is not None
    return record.visible
