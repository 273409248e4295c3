"""The states of a workload's admission checks.

Source: Kueue v0.19, pkg/workload (admission checks), pkg/util/admissioncheck.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from scheduling.objects.copying import replace
from scheduling.objects.queue_settings import ClusterQueueSettings
from scheduling.objects.times import SECOND
from scheduling.objects.workload import Admission, CheckState, Workload

PENDING = "Pending"
READY = "Ready"
RETRY = "Retry"
REJECTED = "Rejected"
STAYS_HERE = "It already ran on this cluster when its ClusterQueue began to dispatch work to other clusters"


def required_checks(workload: Workload, queue: ClusterQueueSettings) -> frozenset[str]:
    """The checks that the workload must pass: those of its flavors, or without quota those for all flavors."""
    if workload.admission is not None:
        return checks_of(workload.admission, queue)
    every = set(queue.flavors)
    return frozenset(check.name for check in queue.checks if every <= (set(check.on_flavors) or every))


def checks_of(admission: Admission, queue: ClusterQueueSettings) -> frozenset[str]:
    """The checks that apply to a flavor of the admission. A check that names no flavor applies to all."""
    assigned = {flavor for entry in admission.assignments for flavor in entry.flavors.values()}
    every = set(queue.flavors)
    return frozenset(check.name for check in queue.checks if assigned & (set(check.on_flavors) or every))


def sync_checks(
    workload: Workload, required: Iterable[str], now: int, elsewhere: Container[str] = frozenset()
) -> Workload:
    """The workload with one state for each required check: the current one, or Pending since now.

    Other states are removed. elsewhere: checks that dispatch to other clusters. For a workload that is already admitted
    on this cluster they are Ready at once.
    """
    wanted = set(required)
    kept = tuple(check for check in workload.checks if check.name in wanted)
    missing = sorted(wanted - {check.name for check in kept})
    stay = elsewhere if workload.admitted and not workload.cluster else ()
    added = (
        CheckState(name, READY, STAYS_HERE, now) if name in stay else CheckState(name, PENDING, since=now)
        for name in missing
    )
    checks = (*kept, *added)
    return workload if checks == workload.checks else replace(workload, checks=checks)


def set_check(checks: tuple[CheckState, ...], new: CheckState, now: int) -> tuple[CheckState, ...]:
    """Replace or add a state. If the state changes, its last transition is that of `new`, or now."""
    before = next((check for check in checks if check.name == new.name), None)
    if before is None:
        return (*checks, replace(new, since=new.since or now))
    since = (new.since or now) if before.state != new.state else before.since
    changed = replace(new, since=since, retries=before.retries)
    return tuple(changed if check is before else check for check in checks)


def reset_checks(workload: Workload, now: int) -> Workload:
    """Reset all checks to Pending, as every eviction does.

    A check in Retry gets one more retry. A Rejected check keeps its count, which its controller wrote.
    """
    checks = tuple(_reset(check, now) for check in workload.checks)
    return workload if checks == workload.checks else replace(workload, checks=checks)


def _reset(check: CheckState, now: int) -> CheckState:
    if check.state == PENDING:
        return check
    counted = {RETRY: (check.retries or 0) + 1, REJECTED: check.retries}
    message = f"Reset to Pending after eviction. Previously: {check.state}"
    return CheckState(check.name, PENDING, message, now, check.requeue_after, counted.get(check.state))


def checks_text(checks: Iterable[CheckState], state: str) -> str:
    """The checks in this state with their messages, by name; empty if there are none."""
    found = sorted((check for check in checks if check.state == state), key=lambda check: check.name)
    if not found:
        return ""
    noun = "AdmissionCheck" if len(found) == 1 else "AdmissionChecks"
    return f"{noun} in {state} state: {'; '.join(map(_quoted, found))}"


def _quoted(check: CheckState) -> str:
    return f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"'


def retry_at(checks: Iterable[CheckState]) -> int:
    """The latest time at which a check in Retry may be tried again; 0 if no check names one."""
    moments = (
        check.since + check.requeue_after * SECOND
        for check in checks
        if check.state == RETRY and check.requeue_after is not None and check.since
    )
    return max(moments, default=0)


def nominated_elsewhere(check: CheckState | None, workload: Workload, *, elastic: bool) -> bool:
    """Whether no worker cluster may be nominated now.

    Nomination requires a Pending check and an empty cluster name, since the workload is leaving a named cluster. Only a
    slice of an elastic job keeps the cluster of the slice that it replaces.
    """
    if check is None or check.state != PENDING:
        return True
    return not elastic and bool(workload.cluster)
