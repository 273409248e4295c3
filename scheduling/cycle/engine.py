"""The engine: takes in what changed, decides, and goes by its decisions until the objects say the same.

    world = World(); world.put_queue(...); world.put_workload(...); ...
    decisions = Engine(world).step(now)

One step is one cycle. Steps follow one another until one decides nothing.
"""

from __future__ import annotations

from dataclasses import replace

from scheduling.cycle.cycle import run
from scheduling.cycle.holding import Holding
from scheduling.flavors.scan_progress import progress_of
from scheduling.queues.pending import Entry, Requeue
from scheduling.status.eviction import preempt
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

_KEEP_LOOKING = (Requeue.NO_FIT, Requeue.NO_CANDIDATES, Requeue.FAILED_AFTER_NOMINATION)
"""After these the next try goes on where the search for flavors ended; after a preemption it begins anew."""

_CLAIMS = (Requeue.FAILED_AFTER_NOMINATION, Requeue.PENDING_PREEMPTION)


class Engine:
    """Cycles over a `World`. What it decides holds in the world at once: quota is assumed, victims are leaving.

    `one_at_a_time`: nobody new gets quota before the pods of all who hold some are ready.
    """

    def __init__(self, world: World, *, one_at_a_time: bool = False) -> None:
        self.world = world
        self.cycles = 0
        self._holding = Holding(world) if one_at_a_time else None

    def step(self, now: int) -> list[Decision]:
        """Try the head of every ClusterQueue that has one. Nothing to try: no decisions."""
        world = self.world
        if self._holding is not None:
            self._holding.let_go()
        world.queues.flush(now)
        heads = world.queues.heads(world.is_ready)
        if not heads:
            return []
        self.cycles += 1
        decided = run(world, heads, self.cycles)
        decisions = [self._enter(entry, decision, now) for entry, decision in decided]
        entries = [entry for entry, _ in decided]
        if all(_would_fare_the_same(entry, decision) for entry, decision in zip(entries, decisions, strict=True)):
            for decision in decisions:
                if isinstance(decision, Wait):
                    world.queues.exhaust(decision.queue)
        return decisions

    def _enter(self, entry: Entry, decision: Decision, now: int) -> Decision:
        world = self.world
        if isinstance(decision, Reserve):
            held = self._holding.holds_back(decision) if self._holding is not None else None
            if self._holding is not None and held is not None:
                self._holding.keep(entry, held.queue, now)
                world.note(entry, held)
                return held
            world.assume(decision.workload, world.state.queues[decision.queue], decision.assignment.usage)
            return decision
        if isinstance(decision, Preempt):
            victim = decision.target.reservation.workload
            world.put_workload(preempt(victim, decision.target.reason, decision.message, now), now)
            return decision
        return self._requeue(entry, decision, now)

    def _requeue(self, entry: Entry, decision: Wait, now: int) -> Wait:
        keeps = decision.requeue in _KEEP_LOOKING and decision.assignment is not None
        entry.progress = None
        if keeps and decision.assignment is not None:
            entry.progress = progress_of(decision.assignment, self.cycles, entry.shape)
        active = self.world.queues.requeue(decision.queue, entry, decision.requeue, now)
        told = replace(decision, set_aside=not active)
        self.world.note(entry, told)
        return told


def _would_fare_the_same(entry: Entry, decision: Decision) -> bool:
    """Whether the next cycle would find nothing else: it lost to a claim of another, or waits for its victims."""
    unfinished = entry.progress is not None and entry.progress.pending
    return isinstance(decision, Wait) and decision.requeue in _CLAIMS and not unfinished
