"""waitForPodsReady.blockAdmission: no workload gets quota while the pods of another one with quota are not ready.

Source: Kueue v0.19, pkg/scheduler, pkg/cache/scheduler.
"""

from __future__ import annotations

from scheduling.objects.inadmissible_reasons import WAITING_FOR_PODS_READY
from scheduling.objects.workload import PODS_READY
from scheduling.queues.pending import Entry, Requeue
from scheduling.world.decisions import Reserve, Wait
from scheduling.world.world import World

MESSAGE = "waiting for all admitted workloads to be in PodsReady condition"


class BlockAdmission:
    """A head that would get quota stays the head of its ClusterQueue until the pods of all workloads are ready."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._last = ""
        self._held: set[str] = set()

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

    def keep(self, entry: Entry, queue: str, now: int) -> None:
        """Return the head to its queue, which is tried again when all pods are ready."""
        self._world.queues.requeue(queue, entry, Requeue.FAILED_AFTER_NOMINATION, now)
        self._world.queues.exhaust(queue)
        self._held.add(queue)

    def let_go(self) -> None:
        """Wake the queues that were held back, if all pods are ready."""
        if self._held and not self._unready():
            for queue in self._held & self._world.queues.pending.keys():
                self._world.queues.wake(queue)
            self._held.clear()

    def _unready(self) -> str:
        """A workload with quota whose pods are not ready, empty if there is none. Checks the last one found first."""
        held = self._world.state.reservations
        if self._last in held and not held[self._last].workload.holds(PODS_READY):
            return self._last
        self._last = next((key for key, each in held.items() if not each.workload.holds(PODS_READY)), "")
        return self._last
