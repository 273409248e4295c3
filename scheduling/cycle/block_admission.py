"""waitForPodsReady.blockAdmission: no workload gets quota while another one with quota has pods that are not ready.

Source: Kueue v0.19, pkg/scheduler, pkg/cache/scheduler.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scheduling.flavors.places import placer
from scheduling.objects.inadmissible_reasons import WAITING_FOR_PODS_READY
from scheduling.objects.workload import PODS_READY
from scheduling.queues.pending import PendingEntry, Requeue
from scheduling.world.decisions import Decision, Preempt, Reserve, Wait
from scheduling.world.world import World

MESSAGE = "waiting for all admitted workloads to be in PodsReady condition"


class BlockAdmission:
    """Holds back the first head that would get quota until the pods of all workloads are ready.

    No workload is tried meanwhile. Then the decision is carried out without another evaluation, unless the requests of
    the head, any quota or any flavor have changed, or its quota or its places are no longer free.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._last = ""  # the last workload found to be not ready
        self._held: Reserve | None = None  # the decision that is held back
        self._edits = 0  # the number of edits of quota and flavors at that time

    def blocks(self) -> bool:
        """Whether no workload may be tried now."""
        return self._held is not None and bool(self._unready())

    def holds_back(self, decision: Reserve) -> Wait | None:
        """The decision to wait, which replaces this one; None if this one may be carried out."""
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
        """Keep the decision.

        Its head and the heads after it return to their queues; the latter are tried in the next cycle.
        """
        queues = self._world.queues
        queues.requeue(decision.queue, entry, Requeue.FAILED_AFTER_NOMINATION, now)
        self._held, self._edits = decision, self._world.state.edits
        for other, later in rest:
            if not isinstance(later, Preempt):
                queues.requeue(later.queue, other, Requeue.FAILED_AFTER_NOMINATION, now)

    def released(self) -> Reserve | None:
        """Return the kept decision, and forget it. None if there is none, or if it has to be decided again."""
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
        """Whether a search would have the same inputs, and the quota and places are still free."""
        world, before = self._world, decision.workload
        same = (entry.workload.pod_sets, entry.workload.queue) == (before.pod_sets, before.queue)
        if not same or world.state.edits != self._edits or not world.is_ready(decision.queue):
            return False
        queue = world.state.queues[decision.queue]
        replaced = world.slices.predecessor(entry.workload, queue)
        slice_before = replaced.workload if replaced is not None else None
        places = placer(world.state, queue.settings, entry.workload, world.checks, slice_before)
        with world.state.spared(replaced.key if replaced is not None else ""):
            usage = decision.assignment.usage.items()
            free = all(amount <= queue.node.free(pair) for pair, amount in usage)
            return free and (places is None or places.fits(decision.assignment))

    def _unready(self) -> str:
        """A workload with quota whose pods are not ready; empty if there is none.

        The last one found is checked first.
        """
        held = self._world.state.reservations
        if self._last in held and not held[self._last].workload.holds(PODS_READY):
            return self._last
        self._last = next((key for key, each in held.items() if not each.workload.holds(PODS_READY)), "")
        return self._last
