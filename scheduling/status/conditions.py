"""Sets conditions as Kubernetes does."""

from __future__ import annotations

from scheduling.objects.copying import replace
from scheduling.objects.workload import PREEMPTED, Condition, Workload

_LONGEST = 32 * 1024
"""The most bytes of a condition's message in its schema."""


def with_condition(workload: Workload, kind: str, status: str, reason: str, message: str, now: int) -> Workload:
    """Replace the condition. Its last transition changes only with the status.

    As in Kueue, only Preempted has no generation while it is True.
    """
    before = workload.conditions.get(kind)
    since = before.since if before is not None and before.status == status else now
    generation = 0 if (kind, status) == (PREEMPTED, "True") else workload.generation
    condition = Condition(status, reason, shortened(message), since, generation)
    if condition == before:
        return workload
    return replace(workload, conditions={**workload.conditions, kind: condition})


def ended(workload: Workload, kind: str, reason: str, now: int) -> Workload:
    """Set a condition that is True to False. The new message contains the previous one."""
    before = workload.holding(kind)
    if before is None:
        return workload
    return with_condition(workload, kind, "False", reason, f"Previously: {before.message}", now)


def shortened(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= _LONGEST:
        return message
    return encoded[: _LONGEST - 3].decode(errors="ignore") + "..."
