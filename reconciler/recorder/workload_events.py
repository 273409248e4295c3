"""The Events that a change of a Workload causes.

Source: Kueue v0.19, pkg/scheduler, pkg/workload/evict and pkg/controller/core.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reconciler.objects.following import queued_since
from scheduling.flavors.messages import considered_text
from scheduling.objects.times import SECOND
from scheduling.objects.workload import (
    ADMISSION_CHECK,
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    MAXIMUM_EXECUTION_TIME,
    PREEMPTED,
    QUOTA_RESERVED,
    SLICE_REPLACED,
    Condition,
    Workload,
)
from scheduling.status.lifecycle import GATE_CLEARED, waits_at_gate
from scheduling.status.unadmitted import BYPASSED, DEACTIVATED_MESSAGE, IN_QUEUE
from scheduling.world.decisions import Preempt, Reserve

_SILENT = (BYPASSED, DEACTIVATED_MESSAGE, IN_QUEUE)
"""Messages without an Event. They apply to many workloads at once, and do not come from a scheduling attempt."""


class News(NamedTuple):
    """One Event about an object."""

    reason: str
    message: str
    warning: bool = False


def details(decision: Reserve | Preempt) -> dict[str, str]:
    """What a decision adds to the Event of the change that it causes, by reason: the flavors that were tried before or
    are borrowed, or both priorities."""
    if isinstance(decision, Preempt):
        return {PREEMPTED: priorities(decision)}
    considered = considered_text(decision.assignment)
    return {QUOTA_RESERVED: f"; Flavors considered: {considered}"} if considered else {}


def priorities(decision: Preempt) -> str:
    victim = decision.target.reservation.workload
    return f"; preemptor {_priority(decision.preemptor)}; preemptee {_priority(victim)}"


def _priority(workload: Workload) -> str:
    return f"effective priority: {workload.priority} (base: {workload.base}, boost: {workload.boost})"


def workload_news(before: Workload, after: Workload) -> Iterator[News]:
    yield from _admission(before, after)
    yield from _waiting(before, after)
    yield from _leaving(before, after)
    yield from _checks(before, after)


def _new(before: Workload, after: Workload, kind: str) -> bool:
    return after.holds(kind) and not before.holds(kind)


def _admission(before: Workload, after: Workload) -> Iterator[News]:
    queue = after.admission.cluster_queue if after.admission is not None else ""
    reserved, admitted = after.conditions.get(QUOTA_RESERVED), after.conditions.get(ADMITTED)
    if reserved is not None and _new(before, after, QUOTA_RESERVED):
        waited = _seconds(queued_since(before), reserved.since)
        yield News("QuotaReserved", f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited}s")
    if admitted is not None and reserved is not None and _new(before, after, ADMITTED):
        waited = _seconds(reserved.since, admitted.since)
        yield News("Admitted", f"Admitted by ClusterQueue {queue}, wait time since reservation was {waited}s")


def _gate(before: Workload, after: Workload) -> News | None:
    """The Event for admission gates. It is not a warning, because another controller is expected to remove the gate."""
    now = after.conditions.get(QUOTA_RESERVED)
    if now is None or waits_at_gate(before) == waits_at_gate(after):
        return None
    if waits_at_gate(after):
        return News("AdmissionGated", f"Workload admission is gated by: {after.gated_by}")
    cleared = News("AdmissionGateCleared", "Admission gate cleared, workload is now admissible")
    return cleared if now.message == GATE_CLEARED else None


def _waiting(before: Workload, after: Workload) -> Iterator[News]:
    """The Event for a new reason for waiting. Quota that is lost in an eviction has the Event of the eviction."""
    old, now = before.conditions.get(QUOTA_RESERVED), after.conditions.get(QUOTA_RESERVED)
    if now is None or now.status == "True" or before.reserved or now.message in _SILENT:
        return
    if (gate := _gate(before, after)) is not None:
        yield gate
        return
    if waits_at_gate(before) and waits_at_gate(after):
        return  # no Event when some of several gates are removed
    if old is None or (old.reason, old.message) != (now.reason, now.message):
        yield News(now.reason, now.message, warning=True)


def _leaving(before: Workload, after: Workload) -> Iterator[News]:
    evicted, preempted = after.conditions.get(EVICTED), after.conditions.get(PREEMPTED)
    target = after.conditions.get(DEACTIVATION_TARGET)
    if target is not None and _new(before, after, DEACTIVATION_TARGET):
        yield from _deactivation(after, target)
    if evicted is not None and before.admission is not None and _new(before, after, EVICTED):
        yield News(f"EvictedDueTo{evicted.reason}", evicted.message)
    if preempted is not None and _new(before, after, PREEMPTED):
        yield News("Preempted", preempted.message)
    finished = after.conditions.get(FINISHED)
    if finished is not None and finished.reason == SLICE_REPLACED and _new(before, after, FINISHED):
        yield News(SLICE_REPLACED, finished.message)


def _deactivation(after: Workload, target: Condition) -> Iterator[News]:
    """The Event for the reason of a deactivation. Other reasons are shown by the eviction that follows."""
    if target.reason == ADMISSION_CHECK:
        yield News("AdmissionCheckRejected", f"Deactivated due to {target.message}", warning=True)
    elif target.reason == MAXIMUM_EXECUTION_TIME:
        yield News(
            MAXIMUM_EXECUTION_TIME, f"The maximum execution time ({after.maximum_seconds}s) exceeded", warning=True
        )


def _checks(before: Workload, after: Workload) -> Iterator[News]:
    """The Events for checks. An eviction resets all checks, and has its own Event instead."""
    if not after.reserved or after.evicted:
        return
    old = {check.name: check.state for check in before.checks}
    for check in after.checks:
        if old.get(check.name, check.state) != check.state:
            why = f" with message: {check.message}" if check.message else ""
            moved = f"from {old[check.name]} to {check.state}"
            yield News("AdmissionCheckUpdated", f"Admission check {check.name} updated state {moved}{why}")


def _seconds(since: int, until: int) -> int:
    return max(0, until - since) // SECOND
