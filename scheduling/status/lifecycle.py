"""The next step of a Workload that needs no quota decision: by its spec, queue, checks and the time.

Each call returns one step from the current state. The caller writes it and calls again.
Source: Kueue v0.19, pkg/controller/core/workload_controller.go.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    INADMISSIBLE,
    MISCONFIGURED,
    PENDING_EVALUATION,
    SUSPENDED,
)
from scheduling.objects.queue_settings import NO_STOP, ClusterQueueSettings, LocalQueueSettings
from scheduling.objects.workload import (
    CLOSED,
    DEACTIVATED,
    DEACTIVATION_TARGET,
    QUOTA_RESERVED,
    REQUEUED,
    PreemptionGate,
    Workload,
)
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
from scheduling.status.eviction import DEVICES_CHANGED, evict
from scheduling.status.observability import LEGACY, Observability
from scheduling.status.progress import replaced
from scheduling.status.requeue import end_backoff, in_backoff, requeued
from scheduling.status.reservation import sync_admitted, unreserve
from scheduling.status.unadmitted import UnadmittedCause, unadmitted

HOLD_AND_DRAIN = "HoldAndDrain"
_STOPPED = {"ClusterQueueStopped": "ClusterQueueRestarted", "LocalQueueStopped": "LocalQueueRestarted"}
"""The reason when a stopped queue resumes, by the reason of the eviction when it stopped."""

_RESOLVED = "The devices that the workload requests can be counted"
"""Kueue v0.19 leaves Requeued at False. With this reason, v0.20 sets it to True."""
_GATED = "Admission is gated by: "
GATE_CLEARED = "AdmissionGatedBy cleared, waiting for quota reservation"


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The inputs of the next step of a workload.

    local, queue: its LocalQueue and ClusterQueue; None if they do not exist. For a workload with quota, `queue` is the
        ClusterQueue of its admission.
    blocked: why it is in no queue.
    waiting: waitForPodsReady; None for no timeout.
    elsewhere: the checks that dispatch work to other clusters.
    bypassed: why an equivalent workload failed; see `unadmitted`.
    mirrors_gates: whether preemption gates count.
    local_gone, queue_gone: whether the queue is missing or is being deleted.
    gated: whether its annotation keeps it out of the queues.
    successor: the larger slice of its elastic job that took over its quota, as stored in the API server.
    outgrown: why its quota does not cover its devices any more.
    inadmissible: the message of its condition Requeued, which is False if `blocked` names a fault of the workload.
    """

    now: int
    local: LocalQueueSettings | None = None
    queue: ClusterQueueSettings | None = None
    blocked: UnadmittedCause | None = None
    waiting: WaitForPodsReady | None = None
    elsewhere: Container[str] = frozenset()
    observability: Observability = LEGACY
    bypassed: UnadmittedCause | None = None
    mirrors_gates: bool = False
    local_gone: bool = False
    queue_gone: bool = False
    gated: bool = False
    successor: Workload | None = None
    outgrown: str = ""
    inadmissible: str = ""

    def next(self, workload: Workload) -> Workload:
        """The workload after its next step; the same one if there is nothing to do."""
        if workload.finished or workload.deleting:
            return workload
        if self.successor is not None:
            return replaced(workload, self.successor, self.now)
        before_checks = (self._gates, self._activity, self._hold)
        for step in (*before_checks, self._checks, self._stop, self._time, self._restart, self._unadmitted):
            after = step(workload)
            if after != workload:
                return after
        return workload

    def _gates(self, workload: Workload) -> Workload:
        """Add a state for every preemption gate of the spec. A new gate is closed."""
        if not self.mirrors_gates or workload.gates == tuple(workload.gate_states):
            return workload
        states = {name: workload.gate_states.get(name, PreemptionGate(CLOSED, self.now)) for name in workload.gates}
        return replace(workload, gate_states=states)

    def _activity(self, workload: Workload) -> Workload:
        """Act on spec.active, which DeactivationTarget sets to false: deactivate the workload, or requeue it."""
        if workload.active and workload.holds(DEACTIVATION_TARGET):
            return replace(workload, active=False)
        if not workload.active:
            return deactivate(workload, self.now)
        back = workload.conditions.get(REQUEUED)
        deactivated = back is not None and back.status == "False" and back.reason.startswith(DEACTIVATED)
        return reactivate(workload, self.now) if deactivated and not workload.reserved else workload

    def _hold(self, workload: Workload) -> Workload:
        """Release reserved quota at an admission gate. What is admitted runs on."""
        if not self.gated or not workload.reserved or workload.admitted:
            return workload
        return unreserve(workload, ADMISSION_GATED, f"{_GATED}{workload.gated_by}", self.now, self.observability)

    def _checks(self, workload: Workload) -> Workload:
        """Update the list of checks from the ClusterQueue, and act on their states.

        If the ClusterQueue is missing, the list stays. A workload whose checks are all Ready is admitted. An admitted
        workload stays admitted until an eviction, even if a check is new or Pending again.
        """
        listed = workload
        if self.queue is not None:
            listed = sync_checks(workload, required_checks(workload, self.queue), self.now, self.elsewhere)
        acted = act_on_checks(listed, self.now)
        if acted != listed or not acted.reserved or acted.evicted or acted.admitted:
            return acted
        return sync_admitted(acted, self.now, self.observability)

    def _stop(self, workload: Workload) -> Workload:
        """Release reserved quota in a stopped or missing queue. With HoldAndDrain, evict admitted workloads, too.

        Also evict a workload whose quota does not cover its devices any more.
        """
        if not workload.reserved:
            return workload
        admitting = workload.admission.cluster_queue if workload.admission is not None else ""
        for kind, name, gone, policy in (
            ("LocalQueue", workload.queue, self.local_gone, self.local.stop_policy if self.local else NO_STOP),
            ("ClusterQueue", admitting, self.queue_gone, self.queue.stop_policy if self.queue else NO_STOP),
        ):
            if not workload.admitted and (gone or policy != NO_STOP):
                message = f"{kind} {name} is {'terminating or missing' if gone else 'stopped'}"
                reason = self.observability.fault(MISCONFIGURED if gone else SUSPENDED)
                return unreserve(workload, reason, message, self.now, self.observability)
            if workload.admitted and policy == HOLD_AND_DRAIN and not workload.evicted:
                return evict(workload, f"{kind}Stopped", f"The {kind} is stopped", self.now)
        if self.outgrown and not workload.evicted:
            return evict(workload, DEVICES_CHANGED, self.outgrown, self.now)
        return workload

    def _time(self, workload: Workload) -> Workload:
        """Act on the time: maximum execution time, pods that are not ready, the end of a backoff."""
        ended = end_execution(workload, self.now)
        if ended == workload and self.waiting is not None:
            ended = end_wait(workload, self.waiting, self.now)
        return end_backoff(ended, self.now) if ended == workload and not _is_leaving(workload) else ended

    def _restart(self, workload: Workload) -> Workload:
        """Requeue a workload that was evicted because of a stopped queue, after the queue resumes, or whose devices
        could not be counted.
        """
        back = workload.conditions.get(REQUEUED)
        if back is None or back.status != "False" or workload.reserved:
            return workload
        if back.reason == INADMISSIBLE and not self.inadmissible:
            return requeued(workload, "DRAResourcesResolved", _RESOLVED, self.now, status=True)
        if back.reason not in _STOPPED:
            return workload
        of_queue = back.reason == "ClusterQueueStopped"
        settings = self.queue if of_queue else self.local
        if settings is None or settings.stopped:
            return workload
        kind = "ClusterQueue" if of_queue else "LocalQueue"
        return requeued(
            workload, _STOPPED[back.reason], f"The {kind} was restarted after being stopped", self.now, status=True
        )

    def _unadmitted(self, workload: Workload) -> Workload:
        """Write why the workload waits, if that is known without an attempt."""
        if workload.reserved:
            return workload
        if self.blocked is None and workload.active and (self.gated or waits_at_gate(workload)):
            cause = self._gate(workload)
        else:
            cause = unadmitted(workload, self.blocked, self.bypassed, self.observability)
        if cause is None:
            return sync_admitted(workload, self.now, self.observability)
        after = unreserve(workload, *cause, self.now, self.observability)
        if not self.inadmissible or not workload.active or in_backoff(workload):
            return after
        return requeued(after, INADMISSIBLE, self.inadmissible, self.now, status=False)

    def _gate(self, workload: Workload) -> UnadmittedCause | None:
        """The cause if admission gates keep the workload out of the queues, or no longer do.

        With granular reasons, the message names the remaining gates.
        """
        if not self.gated:
            return UnadmittedCause(self.observability.attempt(PENDING_EVALUATION), GATE_CLEARED)
        if waits_at_gate(workload) and not self.observability.granular:
            return None
        return UnadmittedCause(ADMISSION_GATED, f"{_GATED}{workload.gated_by}")


def waits_at_gate(workload: Workload) -> bool:
    """Whether its status names an admission gate.

    The message is compared, since preemption gates have the same reason.
    """
    found = workload.conditions.get(QUOTA_RESERVED)
    if found is None or found.status == "True":
        return False
    return found.reason == ADMISSION_GATED and found.message.startswith(_GATED)


def next_moment(workload: Workload, waiting: WaitForPodsReady | None = None) -> int:
    """The next time at which a step is due even if nothing else changes; 0 if there is none."""
    if _is_leaving(workload):
        return 0
    moments = [workload.requeue.at if workload.requeue else 0, execution_deadline(workload) or 0]
    deadline = pods_ready_deadline(workload, waiting) if waiting is not None else None
    return min(filter(None, [*moments, deadline.at if deadline else 0]), default=0)


def _is_leaving(workload: Workload) -> bool:
    """Whether its job still has to stop after an eviction, with a backoff that the condition Requeued does not show.

    Such a backoff does not end before the job has stopped.
    """
    return workload.evicted and workload.reserved and not in_backoff(workload)
