"""What the search for flavors found for the heads of ClusterQueues, known as long as it would find the same again.

A finish lets every head of its tree be tried again, and most of them meet what they met before: the tree is full again,
or one unit of it is free. So an assignment is kept by what the search reads: the shape of the workload, where the
search begins, and the usage on the ClusterQueue's path. Quota, edges and flavors outdate all. Who runs matters only
where somebody could be preempted, and there nothing is kept (docs/adr/2026-11-23-heads-that-meet-the-same.md).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

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
"""Assignments in all, of about 1 KiB each; then the collection begins anew."""

Shape = tuple[Hashable, Hashable, tuple[int, ...]]
"""The scheduling hash, where the search begins, and the usage by node and pair."""


@dataclass(slots=True, eq=False)
class _Place:
    """A ClusterQueue with what its assignments depend on."""

    path: tuple[QuotaNode, ...]
    pairs: tuple[FlavorResource, ...]
    found: dict[Shape, FlavorAssignment] = field(default_factory=dict)


class KnownAssignments:
    """The assignments that one engine has searched, by ClusterQueue."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._edits = state.edits
        self._places: dict[str, _Place] = {}
        self._count = 0

    def shape(self, queue: ClusterQueueState, entry: PendingEntry, resume: Progress | None) -> Shape | None:
        """What the search depends on; None if it also depends on who runs, or on what it would take over."""
        if not entry.scheduling_hash or entry.workload.replaces:
            return None
        place = self._place(queue)
        begins = _begins(resume)
        used = tuple([node.usage.get(pair, 0) for node in place.path for pair in place.pairs])
        if not nobody_can_be_preempted(
            queue, place.path, place.pairs, entry.workload, self._state.options.fair_sharing
        ):
            return None
        return entry.scheduling_hash, begins, used

    def find(self, queue: ClusterQueueState, shape: Shape) -> FlavorAssignment | None:
        """The assignment that a search would find now, with the current generation."""
        known = self._place(queue).found
        found, generation = known.get(shape), self._state.generation(queue)
        if found is not None and found.generation != generation:
            found = known[shape] = replace(found, generation=generation)
        return found

    def keep(self, queue: ClusterQueueState, shape: Shape, assignment: FlavorAssignment) -> None:
        if self._count >= _MOST:
            self._forget()
        self._count += 1
        self._place(queue).found[shape] = assignment

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
    """All that a search in the ClusterQueue may look at."""
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
