"""Caches the results of the search for flavors, for as long as a search would find the same again.

When a workload finishes, all heads of its tree are tried again, and most of them find the same usage as before. So the
key of an assignment has all inputs of the search: the scheduling hash of the workload, the names of its pod sets, where
the search begins, and the usage on the ClusterQueue's path. Changes of quota, edges or flavors clear the cache. A
search for victims also depends on the running workloads, so its result is only used while there are no candidates for
preemption (docs/adr/2026-11-23-heads-that-meet-the-same.md).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.scan_progress import Progress
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.copying import replace
from scheduling.objects.queue_settings import ClusterQueueSettings
from scheduling.preemption.candidates import nobody_can_be_preempted
from scheduling.queues.entry import PendingEntry
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState, QuotaState

_MOST = 20_000
"""The most assignments in all, of about 1 KiB each. Then the cache is cleared."""

Shape = tuple[Hashable, tuple[str, ...], Hashable, tuple[int, ...]]
"""The key: the scheduling hash, the names of the pod sets, where the search begins, and the usage by node and pair.

The hash of Kueue v0.20 is equal for workloads that differ only in these names, and an assignment has them.
"""


@dataclass(slots=True, eq=False)
class _Place:
    """The cached assignments of a ClusterQueue. `path`, `pairs`: the nodes and pairs whose usage is in their keys."""

    path: tuple[QuotaNode, ...]
    pairs: tuple[FlavorResource, ...]
    found: dict[Shape, _Known] = field(default_factory=dict)


class _Known(NamedTuple):
    """A cached assignment. `asked`: the search looked for victims, and there were no candidates."""

    assignment: FlavorAssignment
    asked: bool


class KnownAssignments:
    """The cached assignments of an engine, by ClusterQueue."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._edits = state.edits  # the number of edits at which the cache was cleared
        self._places: dict[str, _Place] = {}  # by ClusterQueue
        self._count = 0

    def shape(self, queue: ClusterQueueState, entry: PendingEntry, resume: Progress | None) -> Shape | None:
        """The key of a search. None if it cannot be cached: the workload takes over from a slice, or has no hash."""
        if not entry.scheduling_hash or entry.workload.replaces:
            return None
        place = self._place(queue)
        used = tuple([node.usage.get(pair, 0) for node in place.path for pair in place.pairs])
        return entry.scheduling_hash, entry.workload.pod_set_names, _begins(resume), used

    def find(self, queue: ClusterQueueState, entry: PendingEntry, shape: Shape) -> FlavorAssignment | None:
        """The cached assignment that a search would find now, with the current generation; None if there is none."""
        place = self._place(queue)
        known = place.found.get(shape)
        if known is None or (known.asked and not self._has_no_candidates(place, queue, entry)):
            return None
        found, generation = known.assignment, self._state.generation(queue)
        if found.generation != generation:
            found = replace(found, generation=generation)
            place.found[shape] = known._replace(assignment=found)
        return found

    def keep(
        self, queue: ClusterQueueState, entry: PendingEntry, shape: Shape, assignment: FlavorAssignment, *, asked: bool
    ) -> None:
        """Cache the result of a search. `asked`: whether it looked for victims."""
        place = self._place(queue)
        if asked and not self._has_no_candidates(place, queue, entry):
            return
        if self._count >= _MOST:
            self._forget()
            place = self._place(queue)
        self._count += 1
        place.found[shape] = _Known(assignment, asked)

    def _has_no_candidates(self, place: _Place, queue: ClusterQueueState, entry: PendingEntry) -> bool:
        fair_sharing = self._state.options.fair_sharing
        return nobody_can_be_preempted(queue, place.path, place.pairs, entry.workload, fair_sharing)

    def _place(self, queue: ClusterQueueState) -> _Place:
        if self._edits != self._state.edits:
            self._forget()
        place = self._places.get(queue.name)
        if place is None:
            place = self._places[queue.name] = _Place(tuple(queue.node.path()), _pairs(queue.settings))
        return place

    def _forget(self) -> None:
        self._places.clear()
        self._count, self._edits = 0, self._state.edits


def _pairs(settings: ClusterQueueSettings) -> tuple[FlavorResource, ...]:
    """All pairs that a search in the ClusterQueue may read."""
    return tuple(
        FlavorResource(flavor, resource)
        for group in settings.groups
        for flavor in group.flavors
        for resource in sorted(group.resources)
    )


def _begins(resume: Progress | None) -> Hashable:
    """A key that is equal for all searches that begin with the same flavors."""
    if resume is None or not resume.pending:
        return None
    return tuple(tuple(sorted(places.items())) for places in resume.tried)
