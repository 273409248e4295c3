"""One cycle: every ClusterQueue's head is tried, and what one gets counts for those that come after it.

Nothing is written: usage that a cycle gives away is tried out on the tree and taken back; the engine enters what came
of it. Source: Kueue v0.19, pkg/scheduler/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from policies.model.pools import NO_TERMS
from scheduling.cycle.fair_sharing import tournament
from scheduling.cycle.limits import beyond
from scheduling.cycle.nominee import Nominee, classic_order
from scheduling.flavors.assignment import Assignment, needed
from scheduling.flavors.eligibility import topology_only
from scheduling.flavors.flavors import assign
from scheduling.flavors.messages import assignment_text
from scheduling.flavors.modes import Outcome
from scheduling.flavors.partial_admission import search
from scheduling.flavors.reasons import WAITING_FOR_QUOTA
from scheduling.objects.admissibility import misfit
from scheduling.objects.amounts import FlavorResource, Usage
from scheduling.objects.queue_settings import ANY
from scheduling.objects.requests import total_requests
from scheduling.preemption.preemption import find_targets, oracle
from scheduling.preemption.targets import Target
from scheduling.queues.pending import Entry, Requeue
from scheduling.quota.alternative import Alternative
from scheduling.quota.node import QuotaNode
from scheduling.quota.state import Queue, Reservation
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

OVERLAPPING = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"
DEFERRED = "Workload fits once the preemptions that are under way are over"
_FAILED_CHECKS = "The workload has failed admission checks"
MISCONFIGURED, SUSPENDED, PENDING_EVALUATION = "Misconfigured", "Suspended", "PendingEvaluation"
WAITING_FOR_PREEMPTED = "WaitingForPreemptedWorkloads"


def run(world: World, heads: Iterable[tuple[str, Entry]], number: int) -> list[tuple[Entry, Decision]]:
    """Decide about these heads, one of each ClusterQueue; `number` counts cycles. In the order of the decisions."""
    cycle = _Cycle(world, number, Alternative(world.state.tree), Alternative(world.state.tree))
    decided: list[tuple[Entry, Decision]] = []
    nominees: list[Nominee] = []
    for name, entry in heads:
        refused = cycle.refusal(name, entry)
        if refused is not None:
            decided.append((entry, refused))
        elif entry.key not in world.state.reservations:
            nominees.append(cycle.nominate(world.state.queues[name], entry))
    with world.state.tree.simulation():
        for nominee in cycle.order(nominees):
            decided.extend((nominee.entry, decision) for decision in cycle.decide(nominee))
    return decided


def alone(world: World, name: str, entry: Entry | None) -> Wait | None:
    """What would keep the workload waiting were it the only head now; None where it would get quota, or others would
    first be asked to leave. Nothing is decided.
    """
    if entry is None:
        return None
    cycle = _Cycle(world, 0, Alternative(world.state.tree), Alternative(world.state.tree))
    refused = cycle.refusal(name, entry)
    if refused is not None:
        return refused
    nominee = cycle.nominate(world.state.queues[name], entry)
    outcome, targets = nominee.assignment.outcome, nominee.targets
    if outcome == Outcome.FIT or not all(target.reservation.workload.evicted for target in targets):
        return None
    with world.state.tree.simulation():
        return next((told for told in cycle.decide(nominee) if isinstance(told, Wait)), None)


@dataclass(slots=True)
class _Cycle:
    """What this cycle has given away so far.

    The tree counts it all, and the victims with it. `after` is how it will be when they have left, `meanwhile` how it
    is until then, without what was promised to those that they leave for.
    """

    world: World
    number: int
    after: Alternative
    meanwhile: Alternative
    victims: dict[str, Reservation] = field(default_factory=dict)

    def order(self, nominees: list[Nominee]) -> Iterator[Nominee]:
        if self.world.state.options.fair_sharing:
            return tournament(nominees, self.world.state.tree)
        return iter(classic_order(nominees, self.world.ordering.by_priority))

    # --- nomination

    def refusal(self, name: str, entry: Entry) -> Wait | None:
        """Why the workload cannot be tried at all; the first that applies."""
        workload, world = entry.workload, self.world

        def wait(reason: str, message: str, requeue: Requeue = Requeue.GENERIC) -> Wait:
            return Wait(workload, name, requeue, reason, message)

        if any(check.state in ("Retry", "Rejected") for check in workload.checks):
            return wait(PENDING_EVALUATION, _FAILED_CHECKS)
        if name not in world.state.queues:
            return wait(MISCONFIGURED, f"ClusterQueue {name} not found")
        if world.state.queues[name].inactive:
            return wait(SUSPENDED, f"ClusterQueue {name} is inactive")
        if workload.namespace not in world.queues.namespaces:
            return wait(MISCONFIGURED, "Could not obtain workload namespace")
        if not world.queues.serves(name)(workload.namespace):
            message = "Workload namespace doesn't match ClusterQueue selector"
            return wait(MISCONFIGURED, message, Requeue.NAMESPACE_MISMATCH)
        in_topologies = topology_only(world.state, world.state.queues[name].settings)
        wrong = beyond(workload, in_topologies) or misfit(workload, world.around(workload.namespace))
        if not wrong:
            return None
        may_be_mended = in_topologies or workload.elastic
        return wait(MISCONFIGURED, wrong, Requeue.GENERIC if may_be_mended else Requeue.MISFIT)

    def nominate(self, queue: Queue, entry: Entry) -> Nominee:
        """What the workload would get as things stand before the cycle."""
        assignment, targets = self._best(queue, entry)
        claims = self.world.queues.pending[queue.name].sticky == entry.key
        return Nominee(entry, queue, assignment, targets, claims and self.world.state.options.preemptors_first)

    def _best(self, queue: Queue, entry: Entry) -> tuple[Assignment, list[Target]]:
        """With all of its pods if that can be had, else with as many as can."""
        full = self._assign(queue, entry)
        targets = self._targets(queue, entry, full)
        if full.outcome == Outcome.FIT or targets or not self.world.state.options.partial_admission:
            return full, targets

        def probe(counts: tuple[int, ...]) -> tuple[Assignment, list[Target]] | None:
            fewer = self._assign(queue, entry, counts)
            leaving = self._targets(queue, entry, fewer)
            return (fewer, leaving) if fewer.outcome == Outcome.FIT or leaving else None

        return search(entry.workload.pod_sets, probe) or (full, targets)

    def _assign(
        self, queue: Queue, entry: Entry, counts: tuple[int, ...] | None = None, keep: Assignment | None = None
    ) -> Assignment:
        world = self.world
        if entry.requests is None:
            entry.requests = total_requests(entry.workload, world.counting)
        progress = entry.progress
        if progress is not None and progress.outdated(world.state.generation(queue), self.number, entry.shape):
            progress = None
        return assign(
            world.state,
            queue,
            entry.workload,
            counts,
            None if keep else progress,
            oracle(world.state, queue, entry.workload, world.precedence),
            requests=entry.requests,
            nominated=keep.nominated if keep else None,
        )

    def _targets(self, queue: Queue, entry: Entry, assignment: Assignment) -> list[Target]:
        if assignment.outcome != Outcome.PREEMPT:
            return []
        state = self.world.state
        need = needed(assignment, state.options.compat)
        return find_targets(state, entry.workload, queue, need, assignment.short, self.world.precedence)

    # --- decisions

    def decide(self, nominee: Nominee) -> Iterator[Decision]:
        """What becomes of the nominee, now that others were decided before it."""
        if self._overlaps(nominee) and self.world.state.options.recompute_on_overlap:
            self._reconsider(nominee)
        assignment = nominee.assignment
        if assignment.outcome == Outcome.NO_FIT:
            yield self._wait(nominee, Requeue.NO_FIT, assignment.no_fit, assignment_text(assignment))
        elif assignment.outcome == Outcome.PREEMPT and not nominee.targets:
            yield self._wait(nominee, Requeue.NO_CANDIDATES, WAITING_FOR_QUOTA, assignment_text(assignment))
            if nominee.queue.settings.preemption.reclaim_within_cohort != ANY:
                self._promise(nominee, to_reserve(nominee.queue, assignment, self.world.state.options.compat))
        elif assignment.outcome == Outcome.DEFERRED_FIT:
            self._promise(nominee, assignment.usage)
            yield self._wait(nominee, Requeue.PENDING_PREEMPTION, WAITING_FOR_PREEMPTED, DEFERRED)
        elif self._overlaps(nominee):
            yield self._wait(nominee, Requeue.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, OVERLAPPING)
        elif not self._still_fits(nominee):
            yield self._wait(nominee, Requeue.FAILED_AFTER_NOMINATION, WAITING_FOR_QUOTA, NO_LONGER_FITS)
        elif assignment.outcome == Outcome.PREEMPT:
            yield from self._preempt(nominee)
        else:
            self._give(nominee)
            yield Reserve(nominee.workload, nominee.queue.name, assignment)

    def _overlaps(self, nominee: Nominee) -> bool:
        return any(target.key in self.victims for target in nominee.targets)

    def _reconsider(self, nominee: Nominee) -> None:
        """Somebody that it counted on leaves for another: who else, with the same flavors? Or is that enough?"""
        with self.world.state.without(self.victims.values()):
            again = self._assign(nominee.queue, nominee.entry, nominee.assignment.counts, nominee.assignment)
            nominee.targets = self._targets(nominee.queue, nominee.entry, again)
        nominee.assignment = again.deferred() if again.outcome == Outcome.FIT else again

    def _still_fits(self, nominee: Nominee) -> bool:
        """Whether it fits beside what the cycle gave away, when all have left who are to leave.

        What fits at once must fit while they are still there, too, or both would run for a while; Kueue does not ask
        that (docs/adr/2026-11-21-fit-beside-those-who-leave.md).
        """
        state, node, usage = self.world.state, nominee.queue.node, nominee.assignment.usage
        if state.options.compat:
            with state.without([*self.victims.values(), *(target.reservation for target in nominee.targets)]):
                return _fits(node, usage)
        with state.tree.simulation():
            for target in nominee.targets:
                state.tree.remove(self.after.at(target.reservation.queue.node), target.reservation.usage)
            if not _fits(self.after.at(node), usage):
                return False
        return bool(nominee.targets) or _fits(self.meanwhile.at(node), usage)

    def _preempt(self, nominee: Nominee) -> Iterator[Decision]:
        for target in nominee.targets:
            self.victims[target.key] = target.reservation
            self.after.remove(target.reservation.queue.node, target.reservation.usage)
        self._promise(nominee, nominee.assignment.usage)
        for target in nominee.targets:
            if not target.reservation.workload.evicted:
                yield Preempt(target, nominee.workload, target.message(nominee.workload, nominee.queue.node))
        message = f"{assignment_text(nominee.assignment)}. Pending the preemption of {len(nominee.targets)} workload(s)"
        yield self._wait(nominee, Requeue.PENDING_PREEMPTION, WAITING_FOR_PREEMPTED, message)

    def _give(self, nominee: Nominee) -> None:
        node, usage = nominee.queue.node, nominee.assignment.usage
        self.after.add(node, usage)
        self.meanwhile.add(node, usage)
        self.world.state.tree.add(node, usage)

    def _promise(self, nominee: Nominee, usage: Usage) -> None:
        """Keep it for the nominee, who gets it once others have left: the rest of the cycle must not take it."""
        self.after.add(nominee.queue.node, usage)
        self.meanwhile.miss(nominee.queue.node)
        self.world.state.tree.add(nominee.queue.node, usage)

    def _wait(self, nominee: Nominee, requeue: Requeue, reason: str, message: str) -> Wait:
        return Wait(
            nominee.workload, nominee.queue.name, requeue, reason, message, nominee.assignment, tuple(nominee.targets)
        )


def to_reserve(queue: Queue, assignment: Assignment, compat: bool = False) -> dict[FlavorResource, int]:
    """What is kept for a head that nobody can be preempted for: others of this cycle must not take it.

    As much as its own limits would let it use. Kueue lets that get below zero for a ClusterQueue over its limit, which
    gives quota away that is not there (docs/adr/2026-11-21-reserve-no-less-than-nothing.md).
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
