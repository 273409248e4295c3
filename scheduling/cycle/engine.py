"""The engine runs cycles, and counts its decisions until the watched objects have them.

    world = World(); world.put_queue(...); world.put_workload(...); ...
    decisions = AdmissionEngine(world).step(now)

One step is one cycle. Repeat it until a step returns no decisions.
"""

from __future__ import annotations

from collections.abc import Iterator

from scheduling.cycle.block_admission import BlockAdmission
from scheduling.cycle.cycle import run
from scheduling.cycle.known_assignments import KnownAssignments
from scheduling.flavors.assignment import total_usage
from scheduling.flavors.scan_progress import progress_of
from scheduling.objects.copying import replace
from scheduling.queues.pending import PendingEntry, Requeue
from scheduling.status.eviction import preempt
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

_KEEP_LOOKING = (Requeue.NO_FIT, Requeue.NO_CANDIDATES, Requeue.FAILED_AFTER_NOMINATION)
"""The reasons after which the next attempt continues the search for flavors. After a preemption it starts over."""


class AdmissionEngine:
    """Runs cycles over a `World`. Decisions take effect in it at once: quota is reserved and victims are evicted.

    block_admission: no workload gets quota until the pods of all workloads with quota are ready.
    """

    def __init__(self, world: World, *, block_admission: bool = False) -> None:
        self.world = world
        self.cycles = 0
        self._known = KnownAssignments(world.state)
        self._block_admission = BlockAdmission(world) if block_admission else None

    def step(self, now: int) -> list[Decision]:
        """Run a cycle over the heads of all ClusterQueues. Returns no decisions if there are no heads."""
        world = self.world
        world.recount(now)
        if self._block_admission is not None:
            if self._block_admission.blocks():
                return []
            if (released := self._block_admission.released()) is not None:
                return [self._reserve(released)]
        world.wake_for_room()
        world.queues.flush(now)
        heads = world.queues.heads(world.is_ready)
        if not heads:
            return []
        self.cycles += 1
        decided = run(world, heads, self.cycles, self._known)
        decisions = [*self._apply_all(decided, now)]
        entries = [entry for entry, _ in decided[: len(decisions)]]
        if all(_would_repeat(entry, decision) for entry, decision in zip(entries, decisions, strict=True)):
            for decision in decisions:
                if isinstance(decision, Wait):
                    world.queues.exhaust(decision.queue)
        return decisions

    def _apply_all(self, decided: list[tuple[PendingEntry, Decision]], now: int) -> Iterator[Decision]:
        """Apply the decisions one after the other, up to one that is held back."""
        for done, (entry, decision) in enumerate(decided, start=1):
            block = self._block_admission
            held = block.holds_back(decision) if block is not None and isinstance(decision, Reserve) else None
            if block is not None and held is not None and isinstance(decision, Reserve):
                block.keep(entry, decision, decided[done:], now)
                self.world.record_attempt(entry, held)
                yield held
                return
            yield self._apply(entry, decision, now)

    def _reserve(self, decision: Reserve) -> Reserve:
        used = total_usage(decision.assignment.pod_sets)
        self.world.assume(decision.workload, self.world.state.queues[decision.queue], used, decision.places)
        return decision

    def _apply(self, entry: PendingEntry, decision: Decision, now: int) -> Decision:
        world = self.world
        if isinstance(decision, Reserve):
            return self._reserve(decision)
        if isinstance(decision, Preempt):
            victim = decision.target.reservation.workload
            world.put_workload(preempt(victim, decision.target.reason, decision.message, now), now)
            return decision
        return self._requeue(entry, decision, now)

    def _requeue(self, entry: PendingEntry, decision: Wait, now: int) -> Wait:
        keeps = decision.requeue in _KEEP_LOOKING and decision.assignment is not None
        last, entry.progress = entry.progress, None
        if decision.requeue == Requeue.PENDING_PREEMPTION:
            entry.preempted_for = decision.assignment
        if keeps and decision.assignment is not None:
            entry.progress = progress_of(decision.assignment, self.cycles, entry.scheduling_hash, last)
        active = self.world.queues.requeue(decision.queue, entry, decision.requeue, now, decision.reserves_capacity)
        requeued = decision if active else replace(decision, inadmissible=True)
        self.world.record_attempt(entry, requeued)
        return requeued


def _would_repeat(entry: PendingEntry, decision: Decision) -> bool:
    """Whether the next cycle would decide the same: the head lost to another one, or stays and reserves capacity."""
    if not isinstance(decision, Wait) or (entry.progress is not None and entry.progress.pending):
        return False
    stays = decision.reserves_capacity and not decision.inadmissible
    return stays or decision.requeue == Requeue.FAILED_AFTER_NOMINATION
