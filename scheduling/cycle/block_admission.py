"""waitForPodsReady.blockAdmission: no workload gets quota while the pods of another one with quota are not ready.

Source: Kueue v0.19, pkg/scheduler, pkg/cache/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scheduling.objects.inadmissible_reasons import WAITING_FOR_PODS_READY
from scheduling.objects.workload import PODS_READY
from scheduling.queues.pending import PendingEntry, Requeue
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

MESSAGE = "waiting for all admitted workloads to be in PodsReady condition"


class BlockAdmission:
    """The first head that would get quota waits until the pods of all workloads are ready; nobody is tried meanwhile.

    Then it gets what was decided, without another evaluation, unless what it asks for or the quota has changed.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._last = ""
        self._held: Reserve | None = None

    def blocks(self) -> bool:
        """Whether nobody is tried."""
        return self._held is not None and bool(self._unready())

    def holds_back(self, decision: Reserve) -> Wait | None:
        """The decision in place of this one; None if it stands."""
        if not self._unready():
            return None
        return Wait(
            decision.workload,
            decision.queue,
            Requeue.FAILED_AFTER_NOMINATION,
            WAITING_FOR_PODS_READY,
            MESSAGE,
            decision.assignment,
        )

    def keep(
        self, entry: PendingEntry, decision: Reserve, rest: Iterable[tuple[PendingEntry, Decision]], now: int
    ) -> None:
        """Return the head to its queue, and those after it in the cycle, which are tried in the next one."""
        queues = self._world.queues
        queues.requeue(decision.queue, entry, Requeue.FAILED_AFTER_NOMINATION, now)
        self._held = decision
        for other, later in rest:
            if not isinstance(later, Preempt):
                queues.requeue(later.queue, other, Requeue.FAILED_AFTER_NOMINATION, now)

    def released(self) -> Reserve | None:
        """What was held back, once all pods are ready; None if there is nothing, or if that has to be decided anew."""
        decision, self._held = self._held, None
        pending = self._world.queues.pending.get(decision.queue) if decision is not None else None
        if decision is None or pending is None:
            return None
        self._world.queues.wake(decision.queue)
        entry = pending.get(decision.workload.key)
        if entry is None or not self._is_unchanged(decision, entry):
            return None
        pending.drop(entry.key)
        return replace(decision, workload=entry.workload)

    def _is_unchanged(self, decision: Reserve, entry: PendingEntry) -> bool:
        """Whether it asks for the same, its queue admits, and nobody has taken the quota away."""
        world, before = self._world, decision.workload
        same = (entry.workload.pod_sets, entry.workload.queue) == (before.pod_sets, before.queue)
        if not same or not world.is_ready(decision.queue):
            return False
        queue = world.state.queues[decision.queue]
        replaced = world.slices.predecessor(entry.workload, queue)
        with world.state.spared(replaced.key if replaced is not None else ""):
            usage = decision.assignment.usage.items()
            return all(amount <= queue.node.free(pair) for pair, amount in usage)

    def _unready(self) -> str:
        """A workload with quota whose pods are not ready, empty if there is none. Checks the last one found first."""
        held = self._world.state.reservations
        if self._last in held and not held[self._last].workload.holds(PODS_READY):
            return self._last
        self._last = next((key for key, each in held.items() if not each.workload.holds(PODS_READY)), "")
        return self._last
