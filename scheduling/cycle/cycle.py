"""One cycle: it tries the heads of all ClusterQueues. The quota that one head gets counts for the heads after it.

A cycle changes nothing: it counts usage in a simulation of the tree, and the engine applies the decisions.
Source: Kueue v0.19, pkg/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from policies.model.pools import NO_TERMS
from scheduling.cycle.fair_sharing import tournament
from scheduling.cycle.known_assignments import KnownAssignments
from scheduling.cycle.misconfigured import misconfigured
from scheduling.cycle.nomination import Nomination, classic_order
from scheduling.flavors.assigner import assign
from scheduling.flavors.assignment import FlavorAssignment, needed
from scheduling.flavors.messages import assignment_text
from scheduling.flavors.modes import FlavorOutcome
from scheduling.flavors.partial_admission import search
from scheduling.flavors.places import TopologyPlacer, placer
from scheduling.flavors.scan_progress import Progress
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    MISCONFIGURED,
    PENDING_EVALUATION,
    PENDING_PREEMPTION,
    SUSPENDED,
    WAITING_FOR_PREEMPTED,
    WAITING_FOR_QUOTA,
)
from scheduling.objects.queue_settings import ANY
from scheduling.objects.requests import total_requests
from scheduling.preemption.preemption import Preemptor
from scheduling.preemption.search import always
from scheduling.preemption.targets import PreemptionTarget
from scheduling.queues.pending import PendingEntry, Requeue
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import ClusterQueueState, Reservation
from scheduling.quota.tree import Alternative
from scheduling.status.checks import REJECTED, RETRY
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

OVERLAPPING = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
DEFERRED = f"{OVERLAPPING}, but will fit after these preemptions complete"
PREEMPTION_GATED = "Workload requires preemption, but it's gated"
FAILED_CHECKS = "The workload has failed admission checks"


def run(
    world: World, heads: Iterable[tuple[str, PendingEntry]], number: int, known: KnownAssignments
) -> list[tuple[PendingEntry, Decision]]:
    """Decide on these heads, at most one for each ClusterQueue. Returns each decision with its head, in order.

    A head has several decisions if it preempts others. A head that already has quota has none.
    """
    cycle = _Cycle(world, number, known)
    decided: list[tuple[PendingEntry, Decision]] = []
    nominations: list[Nomination] = []
    for name, entry in heads:
        refused = cycle.refusal(name, entry)
        if refused is not None:
            decided.append((entry, refused))
        elif entry.key not in world.state.reservations:
            nominations.append(cycle.nominate(world.state.queues[name], entry))
    with world.state.simulation():
        for nomination in cycle.order(nominations):
            decided.extend((nomination.entry, decision) for decision in cycle.decide(nomination))
    return decided


def try_alone(world: World, name: str, entry: PendingEntry | None) -> Wait | None:
    """Why the workload would keep waiting if it were the only head now. Nothing is changed.

    None if `entry` is None, if it would get quota, or if it would preempt workloads that are not being evicted yet.
    """
    if entry is None:
        return None
    entry = replace(entry)  # a cycle keeps progress and requests in the entry
    cycle = _Cycle(world, 0, KnownAssignments(world.state))
    refused = cycle.refusal(name, entry)
    if refused is not None:
        return refused
    nomination = cycle.nominate(world.state.queues[name], entry)
    if not all(target.reservation.workload.evicted for target in nomination.targets):
        return None
    with world.state.simulation():
        return next((decision for decision in cycle.decide(nomination) if isinstance(decision, Wait)), None)


class _Head(NamedTuple):
    """A workload to try, with what finds its victims and its places in topologies."""

    queue: ClusterQueueState
    entry: PendingEntry
    preemptor: Preemptor
    placer: TopologyPlacer | None


@dataclass(slots=True)
class _Cycle:
    """A cycle, with its decisions so far.

    The tree counts everything: new usage, reserved capacity and victims.

    number: the number of the cycle, to tell the age of scan progress.
    known: the cached assignments.
    after: the tree after all victims have ended.
    meanwhile: the tree until then, without the capacity that is reserved for heads that wait.
    victims: the reservations that this cycle preempts, by workload.
    replaced: the slices of elastic jobs whose quota another slice took over.
    """

    world: World
    number: int
    known: KnownAssignments
    after: Alternative = field(init=False)
    meanwhile: Alternative = field(init=False)
    victims: dict[str, Reservation] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.after, self.meanwhile = Alternative(self.world.state.tree), Alternative(self.world.state.tree)

    def order(self, nominations: list[Nomination]) -> Iterator[Nomination]:
        if self.world.state.options.fair_sharing:
            return tournament(nominations, self.world.state.tree)
        return iter(classic_order(nominations, self.world.ordering.by_priority))

    # --- nomination

    def refusal(self, name: str, entry: PendingEntry) -> Wait | None:
        """The first reason why the workload cannot be tried; None if it can."""
        workload, world = entry.workload, self.world

        def wait(reason: str, message: str, requeue: Requeue = Requeue.GENERIC) -> Wait:
            return Wait(workload, name, requeue, reason, message)

        if any(check.state in (RETRY, REJECTED) for check in workload.checks):
            return wait(PENDING_EVALUATION, FAILED_CHECKS)
        if name not in world.state.queues:
            return wait(MISCONFIGURED, f"ClusterQueue {name} not found")
        if world.state.queues[name].inactive:
            return wait(SUSPENDED, f"ClusterQueue {name} is inactive")
        wrong = misconfigured(world, name, workload)
        return wait(MISCONFIGURED, wrong.message, wrong.requeue) if wrong is not None else None

    def nominate(self, queue: ClusterQueueState, entry: PendingEntry) -> Nomination:
        """Find flavors and victims for the workload, by the state before the cycle."""
        replaced = self.world.slices.predecessor(entry.workload, queue)
        slice_before = replaced.workload if replaced is not None else None
        places = placer(self.world.state, queue.settings, entry.workload, self.world.checks, slice_before)
        shape = self.known.shape(queue, entry, self._progress(queue, entry)) if places is None else None
        assignment = self.known.find(queue, entry, shape) if shape is not None else None
        targets: list[PreemptionTarget] = []
        if assignment is None:
            head = self._head(queue, entry, places)
            with self.world.state.spared(replaced.key if replaced is not None else ""):
                assignment, targets = self._best(head)
            if shape is not None:
                self.known.keep(queue, entry, shape, assignment, asked=head.preemptor.asked)
        kept = self._preempted_for(queue, entry, places) if assignment.outcome != FlavorOutcome.FIT else None
        if kept is not None:
            assignment, targets = kept, []
        claims = self.world.queues.pending[queue.name].sticky == entry.key
        goes_first = claims and self.world.state.options.preemptors_first
        return Nomination(entry, queue, assignment, targets, goes_first, replaced, places)

    def _preempted_for(
        self, queue: ClusterQueueState, entry: PendingEntry, places: TopologyPlacer | None
    ) -> FlavorAssignment | None:
        """The assignment for which the workload preempted others, if it fits now; None with profile compat.

        A new search would let the first pod set take quota that was freed for a later one, which then would not fit.
        """
        before: FlavorAssignment | None = entry.preempted_for
        if before is None or len(before.pod_sets) < 2 or self.world.state.options.compat:
            return None
        if any(amount > queue.node.available(pair) for pair, amount in before.usage.items()):
            return None  # it cannot fit, so a search is not needed
        found, _ = self._tried(self._head(queue, entry, places), before.counts, before)
        return found if found.outcome == FlavorOutcome.FIT else None

    def _best(
        self, head: _Head, keep: FlavorAssignment | None = None
    ) -> tuple[FlavorAssignment, list[PreemptionTarget]]:
        """The best assignment with its targets, for all pods if possible, else for as many as possible.

        keep: an assignment whose flavors have to be kept.
        """
        full, targets = self._tried(head, keep=keep)
        if full.outcome == FlavorOutcome.FIT or targets or not self.world.state.options.partial_admission:
            return full, targets

        def probe(counts: tuple[int, ...]) -> tuple[FlavorAssignment, list[PreemptionTarget]] | None:
            fewer, leaving = self._tried(head, counts, keep)
            return (fewer, leaving) if fewer.outcome == FlavorOutcome.FIT or leaving else None

        return search(head.entry.workload.pod_sets, probe) or (full, targets)

    def _tried(
        self, head: _Head, counts: tuple[int, ...] | None = None, keep: FlavorAssignment | None = None
    ) -> tuple[FlavorAssignment, list[PreemptionTarget]]:
        """An assignment and its targets. If it needs a preemption, it has the places to reserve until that is done."""
        assignment, places = self._assign(head, counts, keep), head.placer
        if places is None:
            return assignment, self._targets(head.preemptor, assignment)
        assignment = places.nominate(assignment)
        targets = self._targets(head.preemptor, assignment, places.placeable(assignment))
        if assignment.outcome == FlavorOutcome.PREEMPT:
            with self.world.state.without(target.reservation for target in targets):
                assignment = places.reserving(assignment, empty=not targets)
        return assignment, targets

    def _head(self, queue: ClusterQueueState, entry: PendingEntry, places: TopologyPlacer | None) -> _Head:
        return _Head(queue, entry, Preemptor(self.world.state, queue, entry.workload, self.world.precedence), places)

    def _assign(self, head: _Head, counts: tuple[int, ...] | None, keep: FlavorAssignment | None) -> FlavorAssignment:
        world, queue, entry = self.world, head.queue, head.entry
        if entry.requests is None:
            entry.requests = total_requests(entry.workload, world.counting)
        replaced = world.slices.predecessor(entry.workload, queue)
        return assign(
            world.state,
            queue,
            entry.workload,
            counts,
            None if keep else self._progress(queue, entry),
            head.preemptor.grade,
            requests=entry.requests,
            nominated=keep.nominated if keep else None,
            predecessor=total_requests(replaced.workload, world.counting) if replaced is not None else (),
        )

    def _progress(self, queue: ClusterQueueState, entry: PendingEntry) -> Progress | None:
        """The progress from which the search for flavors continues; None if it starts over."""
        progress: Progress | None = entry.progress
        if progress is None:
            return None
        generation = self.world.state.generation(queue)
        return None if progress.outdated(generation, self.number, entry.scheduling_hash) else progress

    def _targets(
        self, preemptor: Preemptor, assignment: FlavorAssignment, placeable: Callable[[], bool] = always
    ) -> list[PreemptionTarget]:
        if assignment.outcome != FlavorOutcome.PREEMPT:
            return []
        return preemptor.targets(needed(assignment, self.world.state.options.compat), assignment.short, placeable)

    # --- decisions

    def decide(self, nomination: Nomination) -> Iterator[Decision]:
        """Decide on one head, given the decisions before it."""
        if self._job_must_leave(nomination):
            yield self._wait(nomination, Requeue.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, OVERLAPPING)
            return
        if self._overlaps(nomination) and self.world.state.options.recompute_on_overlap:
            self._reconsider(nomination)
        if self._lost_its_places(nomination):
            self._place_again(nomination)
        assignment = nomination.assignment
        if assignment.outcome == FlavorOutcome.NO_FIT:
            yield self._wait(nomination, Requeue.NO_FIT, assignment.no_fit, assignment_text(assignment))
        elif assignment.outcome == FlavorOutcome.PREEMPT and not nomination.targets:
            # With Any the queue can take back its quota later from the queues that borrow it.
            reserves = nomination.goes_first or nomination.queue.settings.preemption.reclaim_within_cohort != ANY
            if reserves:
                kept = quota_to_reserve(nomination.queue, assignment, self.world.state.options.compat)
                self._reserve_capacity(nomination, kept)
            text = assignment_text(assignment)
            yield self._wait(nomination, Requeue.NO_CANDIDATES, WAITING_FOR_QUOTA, text, reserves=reserves)
        elif assignment.outcome == FlavorOutcome.PREEMPT and self._gated(nomination):
            yield self._wait(nomination, Requeue.PREEMPTION_GATED, ADMISSION_GATED, PREEMPTION_GATED)
        elif assignment.outcome == FlavorOutcome.DEFERRED_FIT:
            self._reserve_capacity(nomination, assignment.usage)
            yield self._wait(nomination, Requeue.PENDING_PREEMPTION, WAITING_FOR_PREEMPTED, DEFERRED, reserves=True)
        elif self._overlaps(nomination):
            yield self._wait(nomination, Requeue.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, OVERLAPPING)
        elif not (self._quota_fits(nomination) and self._places_fit(nomination)):
            yield self._wait(nomination, Requeue.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, NO_LONGER_FITS)
        elif assignment.outcome == FlavorOutcome.PREEMPT:
            yield from self._preempt(nomination)
        else:
            self._count(nomination)
            yield Reserve(nomination.workload, nomination.queue.name, assignment, nomination.places)

    def _gated(self, nomination: Nomination) -> bool:
        return self.world.state.options.gated_preemption and nomination.workload.preemption_gated

    def _job_must_leave(self, nomination: Nomination) -> bool:
        """Whether the slice from which it takes over is a victim. Then the whole job has to stop."""
        replaced = nomination.replaced
        return replaced is not None and (replaced.workload.evicted or replaced.key in self.victims)

    def _overlaps(self, nomination: Nomination) -> bool:
        return any(target.key in self.victims or target.key in self.replaced for target in nomination.targets)

    def _reconsider(self, nomination: Nomination) -> None:
        """Search again with the same flavors, for all pods first, since another head preempts some of its targets.

        It may need none now.
        """
        with self.world.state.without(self.victims.values()):
            head = self._head(nomination.queue, nomination.entry, nomination.placer)
            again, nomination.targets = self._best(head, nomination.assignment)
        nomination.recomputed = True
        nomination.assignment = again.deferred() if again.outcome == FlavorOutcome.FIT else again

    def _lost_its_places(self, nomination: Nomination) -> bool:
        """Whether its quota still fits, but another workload of this cycle took its places in the topology."""
        if nomination.placer is None or not self.world.state.options.recompute_places:
            return False
        preempts = nomination.assignment.outcome == FlavorOutcome.PREEMPT and self.world.state.options.compat
        if nomination.assignment.outcome != FlavorOutcome.FIT and not nomination.targets and not preempts:
            return False
        if self._overlaps(nomination):
            return False
        return not self._places_fit(nomination) and self._quota_fits(nomination)

    def _place_again(self, nomination: Nomination) -> None:
        """Find other places with the same flavors, for as many pods as have room now.

        If there are none, the head is tried again in the next cycle, when places reserved for another head are free
        again. Kueue treats it as a head without room (docs/adr/2026-11-27-places-kept-for-one-cycle.md).
        """
        nomination.entry.progress = None
        head = self._head(nomination.queue, nomination.entry, nomination.placer)
        again, targets = self._best(head, nomination.assignment)
        if again.outcome == FlavorOutcome.FIT or targets or self.world.state.options.compat:
            nomination.assignment, nomination.targets = again, targets

    def _places_fit(self, nomination: Nomination) -> bool:
        """Whether its places are free after all victims have ended.

        Without targets of its own they must be free now, too.
        """
        if nomination.placer is None:
            return True
        state, assignment = self.world.state, nomination.assignment
        leaving = [*self.victims.values(), *(target.reservation for target in nomination.targets)]
        with state.without(leaving):
            fits = nomination.placer.fits(assignment)
        if state.options.compat or nomination.targets:
            return fits
        return fits and nomination.placer.fits(assignment)

    def _quota_fits(self, nomination: Nomination) -> bool:
        """Whether its quota fits beside the other decisions of the cycle after all victims have ended.

        A head without targets must also fit before that, since it starts while the victims still run. Kueue does not
        require it (docs/adr/2026-11-21-fit-beside-those-who-leave.md).
        """
        state, node, usage = self.world.state, nomination.queue.node, nomination.assignment.usage
        if state.options.compat:
            with state.without([*self.victims.values(), *(target.reservation for target in nomination.targets)]):
                return _fits(node, usage)
        if not nomination.targets:
            return _fits(self.after.at(node), usage) and _fits(self.meanwhile.at(node), usage)
        with state.tree.simulation():
            for target in nomination.targets:
                state.tree.remove(self.after.at(target.reservation.queue.node), target.reservation.usage)
            return _fits(self.after.at(node), usage)

    def _preempt(self, nomination: Nomination) -> Iterator[Decision]:
        for target in nomination.targets:
            self.victims[target.key] = target.reservation
            self.after.remove(target.reservation.queue.node, target.reservation.usage)
        self._reserve_capacity(nomination, nomination.assignment.usage)
        for target in nomination.targets:
            if not target.reservation.workload.evicted:
                yield Preempt(target, nomination.workload, target.message(nomination.workload, nomination.queue.node))
        message = (
            f"{assignment_text(nomination.assignment)}. {PENDING_PREEMPTION} {len(nomination.targets)} workload(s)"
        )
        yield self._wait(nomination, Requeue.PENDING_PREEMPTION, WAITING_FOR_PREEMPTED, message, reserves=True)

    def _count(self, nomination: Nomination) -> None:
        node, usage = nomination.queue.node, nomination.assignment.usage
        if nomination.replaced is not None:
            self.replaced.add(nomination.replaced.key)
        self.after.add(node, usage)
        self.meanwhile.add(node, usage)
        self.world.state.tree.add(node, usage)
        self.world.state.count_places(nomination.places)

    def _reserve_capacity(self, nomination: Nomination, usage: Usage) -> None:
        """Reserve capacity for a head that has to wait, so that later heads of the cycle do not take it."""
        self.after.add(nomination.queue.node, usage)
        self.meanwhile.miss(nomination.queue.node)
        self.world.state.tree.add(nomination.queue.node, usage)
        self.world.state.count_places(nomination.places)

    def _wait(
        self, nomination: Nomination, requeue: Requeue, reason: str, message: str, *, reserves: bool = False
    ) -> Wait:
        return Wait(
            nomination.workload,
            nomination.queue.name,
            requeue,
            reason,
            message,
            nomination.assignment,
            tuple(nomination.targets),
            reserves_capacity=reserves,
            recomputed=nomination.recomputed,
        )


def quota_to_reserve(
    queue: ClusterQueueState, assignment: FlavorAssignment, compat: bool = False
) -> dict[FlavorResource, int]:
    """The capacity to reserve for a head without candidates, so that later heads of the cycle do not take it.

    It is as much as the limits of its ClusterQueue allow, at least 0. With compat, as in Kueue, it is negative for a
    ClusterQueue above its borrowing limit, so that other heads get quota that does not exist
    (docs/adr/2026-11-21-reserve-no-less-than-nothing.md).
    """
    reserved: dict[FlavorResource, int] = {}
    for pair, amount in assignment.usage.items():
        terms = queue.node.terms.get(pair, NO_TERMS)
        left = terms.nominal - queue.node.used(pair)
        if assignment.level > 0:
            kept = amount if terms.borrowing is None else min(amount, left + terms.borrowing)
            reserved[pair] = kept if compat else max(0, kept)
        else:
            reserved[pair] = max(0, min(amount, left))
    return reserved


def _fits(node: QuotaNode, usage: Usage) -> bool:
    return all(amount <= node.free(pair) for pair, amount in usage.items())
