"""One at a time: nobody new gets quota while pods of a workload that holds some are not ready.

Source: Kueue v0.19, waitForPodsReady.blockAdmission (pkg/scheduler, pkg/cache/scheduler).
"""

from __future__ import annotations

from scheduling.objects.workload import PODS_READY
from scheduling.queues.pending import Entry, Requeue
from scheduling.world.decisions import Reserve, Wait
from scheduling.world.world import World

WAITING_FOR_PODS_READY = "WaitingForPodsReady"
MESSAGE = "waiting for all admitted workloads to be in PodsReady condition"


class Holding:
    """Who would get quota keeps its place at the head of its ClusterQueue until the pods of all are ready."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._last = ""
        self._held: set[str] = set()

    def holds_back(self, decision: Reserve) -> Wait | None:
        """What becomes of the decision; None where it may be carried out."""
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
        """Give the head back; the ClusterQueue is looked at again when all pods are ready."""
        self._world.queues.requeue(queue, entry, Requeue.FAILED_AFTER_NOMINATION, now)
        self._world.queues.exhaust(queue)
        self._held.add(queue)

    def let_go(self) -> None:
        """Look at those again that were held back, once the pods of all are ready."""
        if self._held and not self._unready():
            for queue in self._held & self._world.queues.pending.keys():
                self._world.queues.wake(queue)
            self._held.clear()

    def _unready(self) -> str:
        """A workload that holds quota and whose pods are not ready; the one found last is asked first."""
        held = self._world.state.reservations
        if self._last in held and not held[self._last].workload.holds(PODS_READY):
            return self._last
        self._last = next((key for key, each in held.items() if not each.workload.holds(PODS_READY)), "")
        return self._last
