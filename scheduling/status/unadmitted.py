"""The condition QuotaReserved of a workload that waits for a cause which is known before the scheduler tries it.

Source: Kueue v0.19, pkg/controller/core/workload_controller.go.
"""

from __future__ import annotations

from typing import NamedTuple

from scheduling.objects.inadmissible_reasons import (
    ADMISSION_GATED,
    EXCEEDS_MAX_QUOTA,
    NO_MATCHING_FLAVOR,
    PENDING_EVALUATION,
    TOPOLOGY_PLACEMENT_FAILED,
    WAITING_FOR_PODS_READY,
    WAITING_FOR_PREEMPTED,
    WAITING_FOR_QUOTA,
)
from scheduling.objects.workload import BLOCKED_ON_GATES, DEACTIVATED, ON_HOLD, QUOTA_RESERVED, Workload
from scheduling.status.observability import Observability

DEACTIVATED_MESSAGE = "The workload is deactivated"
BYPASSED = "Bypassed scheduling evaluation because an equivalent workload recently failed"
IN_QUEUE = "Workload is pending evaluation in the scheduling queue"
_BY_SCHEDULER = (
    WAITING_FOR_QUOTA,
    NO_MATCHING_FLAVOR,
    EXCEEDS_MAX_QUOTA,
    TOPOLOGY_PLACEMENT_FAILED,
    WAITING_FOR_PREEMPTED,
    WAITING_FOR_PODS_READY,
    PENDING_EVALUATION,
)
"""The reasons that the scheduler writes. They stay until it tries the workload again."""


class UnadmittedCause(NamedTuple):
    """A reason of the gate UnadmittedWorkloadsObservability, and a message."""

    reason: str
    message: str


def unadmitted(
    workload: Workload, fault: UnadmittedCause | None, bypassed: UnadmittedCause | None, observability: Observability
) -> UnadmittedCause | None:
    """The new reason and message of the condition; None if it stays as it is.

    fault: why the workload is in no queue, or can never be admitted from its queue.
    bypassed: why the scheduler skips it: an equivalent workload failed.
    """
    if observability.granular:
        return _granular(workload, fault, bypassed, observability)
    if fault is None:
        return None
    return UnadmittedCause(observability.fault(fault.reason), fault.message)


def _granular(
    workload: Workload, fault: UnadmittedCause | None, bypassed: UnadmittedCause | None, observability: Observability
) -> UnadmittedCause | None:
    """The first cause that applies; None if the condition stays as it is."""
    before = workload.conditions.get(QUOTA_RESERVED)
    reason = before.reason if before is not None else ""
    if not workload.active:
        return UnadmittedCause(DEACTIVATED, DEACTIVATED_MESSAGE)
    if reason == ON_HOLD:
        return None
    if fault is not None or bypassed is not None:
        return fault or bypassed
    gated = reason == ADMISSION_GATED and workload.holds(BLOCKED_ON_GATES)
    if gated or reason in _BY_SCHEDULER or (before is None and not observability.explicit):
        return None
    return UnadmittedCause(PENDING_EVALUATION, IN_QUEUE)
