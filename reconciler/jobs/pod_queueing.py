"""Pods that have no Workload yet: none of them may run, and the Workload is created when all Pods of a group exist."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.actions import Create
from reconciler.jobs.pod_member import GroupPod
from reconciler.jobs.pod_roles import by_merit
from reconciler.jobs.pod_unit import CannotCompose, PodUnit, composed
from reconciler.jobs.pod_writes import about, cut_off, excess, released
from reconciler.jobs.step import JobInputs
from reconciler.objects.patches import JOB_MANAGER, WORKLOADS
from reconciler.objects.wanted import WantedWrite
from scheduling.objects.priority import UnknownPriorityClass
from scheduling.objects.submission import IncompleteGroup, TooFewPods

WORKLOAD = "Workload"


def queueing(unit: PodUnit, inputs: JobInputs) -> list[WantedWrite]:
    """The next writes. The Workload is created once no Pod of the unit runs."""
    ended = released(member for member in unit.members if not member.counts)
    stopped = cut_off(unit.members, "missing workload")
    if ended or stopped:
        return [*ended, *stopped]
    if unit.occupied:
        return []
    counting = unit.counting
    if not any(member.gated and not member.ended for member in counting):
        return released(unit.members)
    return [] if unit.first.prebuilt else _created(unit, counting, inputs)


def _created(unit: PodUnit, counting: Sequence[GroupPod], inputs: JobInputs) -> list[WantedWrite]:
    if unit.size is not None and len(counting) > unit.size:
        merited = by_merit(counting)
        counting, over = merited[: unit.size], merited[unit.size :]
        if removed := [excess(member) for member in over if not member.of_set]:
            return removed
    try:
        made = composed(counting, inputs)
    except (IncompleteGroup, CannotCompose, UnknownPriorityClass) as error:
        return [not_composed(unit, error)]
    create = Create(WORKLOADS, made, JOB_MANAGER)
    return [
        WantedWrite((WORKLOAD, unit.key), create, about(unit.first), "CreatedWorkload", f"Created Workload: {unit.key}")
    ]


def not_composed(unit: PodUnit, error: IncompleteGroup | CannotCompose | UnknownPriorityClass) -> WantedWrite:
    """The Event on the oldest Pod that says why no Workload can be composed."""
    unknown_class = isinstance(error, UnknownPriorityClass)
    reason = "WorkloadPriorityClassNotFound" if unknown_class else "ErrWorkloadCompose"
    message = error.event if isinstance(error, TooFewPods | UnknownPriorityClass) else str(error)
    return WantedWrite((WORKLOAD, unit.key), None, about(unit.first), reason, message, warning=True)
