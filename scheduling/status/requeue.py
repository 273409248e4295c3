"""When an evicted workload may queue again.

Source: Kueue v0.19, pkg/workload (requeue state), pkg/util/wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduling.objects.times import SECOND
from scheduling.objects.workload import ADMISSION_CHECK, PODS_READY_TIMEOUT, REQUEUED, RequeueState, Workload
from scheduling.status.conditions import with_condition


@dataclass(frozen=True, slots=True)
class RequeueBackoff:
    """An exponential backoff: `base` seconds, then twice, four times and so on, up to `most` seconds."""

    base: int = 60
    most: int = 3600

    def wait(self, attempt: int) -> int:
        """The nanoseconds to wait after `attempt` failures; 0 for no failure."""
        return min(self.most, self.base << min(attempt - 1, 62)) * SECOND if attempt > 0 else 0


def requeue_at(workload: Workload, moment: int, *, counted: bool) -> Workload:
    """Requeue the workload at `moment`, or at a later time that is already set.

    `counted`: increase its requeue count.
    """
    before = workload.requeue or RequeueState()
    count = (before.count or 0) + 1 if counted else before.count
    after = RequeueState(count, max(before.at, moment))
    return workload if after == workload.requeue else replace(workload, requeue=after)


def back_off(workload: Workload, backoff: RequeueBackoff, now: int) -> Workload:
    """Requeue the workload after a backoff that grows each time."""
    attempt = ((workload.requeue.count if workload.requeue else None) or 0) + 1
    return requeue_at(workload, now + backoff.wait(attempt), counted=True)


def backoff_over(workload: Workload, now: int) -> bool:
    """Whether the workload may be in its queue: its requeue time has passed, and Requeued is not False."""
    requeued = workload.conditions.get(REQUEUED)
    if requeued is not None and requeued.status == "False":
        return False
    return workload.requeue is None or workload.requeue.at <= now


def in_backoff(workload: Workload) -> bool:
    """Whether Requeued is False because of a backoff."""
    found = workload.conditions.get(REQUEUED)
    return found is not None and found.status == "False" and found.reason in (ADMISSION_CHECK, PODS_READY_TIMEOUT)


def end_backoff(workload: Workload, now: int) -> Workload:
    """End a backoff that has passed: first remove the requeue time, then set Requeued to True.

    Requeued is only changed if it is False because of a backoff. A workload that was evicted because of a stopped
    queue, for example, waits for the queue. After a check in Retry there may be no requeue time.
    """
    state = workload.requeue
    if state is not None and state.at:
        return workload if state.at > now else replace(workload, requeue=replace(state, at=0))
    if not in_backoff(workload):
        return workload
    return requeued(workload, "BackoffFinished", "The workload backoff was finished", now, status=True)


def requeued(workload: Workload, reason: str, message: str, now: int, *, status: bool) -> Workload:
    return with_condition(workload, REQUEUED, "True" if status else "False", reason, message, now)
