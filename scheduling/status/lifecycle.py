"""The next step of a Workload by itself: what its spec, its queue, its checks and the time ask for.

One step at a time, from the state as it is; whoever calls writes it and asks again. Quota is not decided here.
Source: Kueue v0.19, pkg/controller/core/workload_controller.go.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from scheduling.objects.queue_settings import LocalQueueSettings, QueueSettings
from scheduling.objects.workload import DEACTIVATED, DEACTIVATION_TARGET, QUOTA_RESERVED, REQUEUED, Workload
from scheduling.status.checks import required_checks, sync_checks
from scheduling.status.deadlines import (
    WaitForPodsReady,
    act_on_checks,
    deactivate,
    end_execution,
    end_wait,
    execution_deadline,
    pods_ready_deadline,
    reactivate,
)
from scheduling.status.eviction import evict, evicted_by_deactivation
from scheduling.status.requeue import end_backoff, requeued
from scheduling.status.reservation import sync_admitted, unreserve

HOLD_AND_DRAIN = "HoldAndDrain"
_STOPPED = {"ClusterQueueStopped": "ClusterQueueRestarted", "LocalQueueStopped": "LocalQueueRestarted"}
"""The reason of an eviction by a stopped queue, and that of going on."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The surroundings of one workload, at one moment.

    `local`, `queue`: its LocalQueue and ClusterQueue, None where there is none; of one that holds quota `queue` is
    that of its admission. `blocked`: why it can wait nowhere (reason, message). `waiting` None: pods may take for ever.
    `detailed`: see `sync_admitted`. `elsewhere`: the checks that send work to other clusters.
    """

    now: int
    local: LocalQueueSettings | None = None
    queue: QueueSettings | None = None
    blocked: tuple[str, str] | None = None
    waiting: WaitForPodsReady | None = None
    detailed: bool = True
    elsewhere: Container[str] = frozenset()

    def next(self, workload: Workload) -> Workload:
        """The workload as it should be next; the same where there is nothing to do."""
        if workload.finished or workload.deleting:
            return workload
        for step in (self._activity, self._checks, self._stop, self._time, self._restart, self._blocker):
            after = step(workload)
            if after != workload:
                return after
        return workload

    def _activity(self, workload: Workload) -> Workload:
        """A target for deactivation sets spec.active to false, which evicts; true again lets it queue."""
        if workload.active and workload.holds(DEACTIVATION_TARGET):
            return replace(workload, active=False)
        if not workload.active:
            return workload if evicted_by_deactivation(workload) else deactivate(workload, self.now)
        back = workload.conditions.get(REQUEUED)
        deactivated = back is not None and back.status == "False" and back.reason.startswith(DEACTIVATED)
        return reactivate(workload, self.now) if deactivated and not workload.reserved else workload

    def _checks(self, workload: Workload) -> Workload:
        """The list of checks is that of the ClusterQueue, and what they say is done."""
        if self.queue is None:
            return workload
        listed = sync_checks(workload, required_checks(workload, self.queue), self.now, self.elsewhere)
        acted = act_on_checks(listed, self.now)
        if acted != listed or not acted.reserved or acted.evicted:
            return acted
        return sync_admitted(acted, self.now, detailed=self.detailed)

    def _stop(self, workload: Workload) -> Workload:
        """A queue that is stopped takes back what is not admitted yet; where it drains, what is admitted too."""
        for kind, stopped, policy in (
            ("ClusterQueue", "ClusterQueueStopped", self.queue.stop_policy if self.queue else "None"),
            ("LocalQueue", "LocalQueueStopped", self.local.stop_policy if self.local else "None"),
        ):
            if policy == "None" or not workload.reserved or workload.evicted:
                continue
            if not workload.admitted:
                name = self.queue.name if kind == "ClusterQueue" and self.queue else workload.queue
                return unreserve(
                    workload, self._told("Suspended"), f"{kind} {name} is stopped", self.now, detailed=self.detailed
                )
            if policy == HOLD_AND_DRAIN:
                return evict(workload, stopped, f"The {kind} is stopped", self.now)
        return workload

    def _time(self, workload: Workload) -> Workload:
        """Too long a run, pods that are not ready, a backoff that is over."""
        ended = end_execution(workload, self.now)
        if ended == workload and self.waiting is not None:
            ended = end_wait(workload, self.waiting, self.now)
        return end_backoff(ended, self.now) if ended == workload and not _is_leaving(workload) else ended

    def _restart(self, workload: Workload) -> Workload:
        """What a stopped queue sent away queues again when the queue goes on."""
        back = workload.conditions.get(REQUEUED)
        if back is None or back.status != "False" or workload.reserved or back.reason not in _STOPPED:
            return workload
        of_queue = back.reason == "ClusterQueueStopped"
        settings = self.queue if of_queue else self.local
        if settings is None or settings.stop_policy != "None":
            return workload
        kind = "ClusterQueue" if of_queue else "LocalQueue"
        return requeued(
            workload, _STOPPED[back.reason], f"The {kind} was restarted after being stopped", self.now, status=True
        )

    def _blocker(self, workload: Workload) -> Workload:
        """One that can wait nowhere says why."""
        if self.blocked is None or workload.reserved or not workload.active:
            return workload
        reason, message = self.blocked
        before = workload.conditions.get(QUOTA_RESERVED)
        told = self._told(reason)
        if before is not None and (before.status, before.reason, before.message) == ("False", told, message):
            return workload
        return unreserve(workload, told, message, self.now, detailed=self.detailed)

    def _told(self, reason: str) -> str:
        return reason if self.detailed else "Pending"


def next_moment(workload: Workload, waiting: WaitForPodsReady | None = None) -> int:
    """When the time alone will ask for a step; 0 where it never will."""
    if _is_leaving(workload):
        return 0
    moments = [workload.requeue.at if workload.requeue else 0, execution_deadline(workload) or 0]
    deadline = pods_ready_deadline(workload, waiting) if waiting is not None else None
    return min(filter(None, [*moments, deadline.at if deadline else 0]), default=0)


def _is_leaving(workload: Workload) -> bool:
    """Whether its job has still to stop after an eviction; only then does it wait for the end of its backoff."""
    return workload.evicted and workload.reserved
