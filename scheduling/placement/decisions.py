"""The decisions of placement. Local ones change the status of the manager's workload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from scheduling.objects.times import SECOND
from scheduling.objects.workload import CheckState, Condition, Workload
from scheduling.placement.group import NOMINATED, PLACED, PLACED_ON
from scheduling.status.checks import READY, RETRY, set_check
from scheduling.status.progress import finish
from scheduling.status.reservation import placed_elsewhere

_FIRST_DELAY, _LONGEST_DELAY = 10, 600


@dataclass(frozen=True)
class _OnWorker:
    """A step for the copy or the job on one worker."""

    cluster: str


class CreateClone(_OnWorker):
    """Create a copy of the workload on a worker."""


class UpdateClone(_OnWorker):
    """Update the spec of the copy in place, without a restart."""


class DeleteClone(_OnWorker):
    """Delete the copy of the workload."""


class CreateJob(_OnWorker):
    """Create the job on a worker, or the missing Pods of a group."""


class TrimJob(_OnWorker):
    """Delete the Pods of a group that no longer exist on the manager."""


class UpdateJob(_OnWorker):
    """Update the fields of the job that may change while it runs, from the manager's job."""


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """Delete the job.

    `running`: use foreground propagation, so that the job exists until its pods are deleted.
    `unchanged`: delete it only at the version that was read, because its end may not have been reported yet.
    """

    cluster: str
    running: bool = False
    unchanged: bool = False


class CopyStatus(_OnWorker):
    """Copy the status of the worker's job to the manager's."""


@dataclass(frozen=True, slots=True)
class ReportStopped:
    """Write into the manager's job that no pods run, since no worker will report it."""


@dataclass(frozen=True, slots=True)
class EvictRemote:
    """Evict the copy on a worker."""

    cluster: str
    message: str


class OpenGate(_OnWorker):
    """Open the preemption gate of the copy, so that it may preempt others on the worker."""


@dataclass(frozen=True, slots=True)
class Nominate:
    """Write the nominated clusters. `round`: the number of a new round; 0 if the current round continues."""

    clusters: tuple[str, ...]
    round: int = 0


@dataclass(frozen=True, slots=True)
class SetClusterName:
    """Choose the cluster. From now on a job may exist on it."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ClearClusterName:
    """Withdraw the choice of a cluster."""


@dataclass(frozen=True, slots=True)
class SetCheck:
    """Set the state of the MultiKueue check. `event`: whether an Event reports it. `warning`: its type is Warning."""

    state: str
    message: str
    event: bool = True
    warning: bool = False


@dataclass(frozen=True, slots=True)
class NotePlaces:
    """Record that the pods have places in a topology of the worker, which has admitted the workload."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Finish the workload."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Again:
    """Decide again at this time, in nanoseconds."""

    at: int


Remote: TypeAlias = (
    CreateClone | UpdateClone | DeleteClone | CreateJob | TrimJob | UpdateJob | DeleteJob | EvictRemote | OpenGate
)
"""Writes on a worker."""
Local: TypeAlias = Nominate | SetClusterName | ClearClusterName | NotePlaces | SetCheck | Finish
"""Writes to the manager's workload."""
Decision: TypeAlias = Remote | Local | CopyStatus | ReportStopped | Again


def applied(workload: Workload, check: str, decision: Local, now: int) -> Workload:
    """The workload after the decision. `check`: the name of its MultiKueue check."""
    match decision:
        case Nominate():
            named = replace(workload, nominated=decision.clusters)
            return _noted(named, "False", NOMINATED, f"round {decision.round}", now) if decision.round else named
        case SetClusterName():
            chosen = replace(workload, cluster=decision.cluster, nominated=())
            return _noted(chosen, "True", PLACED, decision.cluster, now)
        case ClearClusterName():
            return replace(workload, cluster="")
        case NotePlaces():
            return placed_elsewhere(workload)
        case SetCheck():
            return _checked(workload, check, decision, now)
        case Finish():
            return finish(workload, decision.reason, decision.message, now)


def _checked(workload: Workload, name: str, decision: SetCheck, now: int) -> Workload:
    before = workload.check(name) or CheckState(name, "")
    later = _delay(before, now) if decision.state == RETRY else None
    new = replace(before, state=decision.state, message=decision.message, since=now, requeue_after=later)
    return replace(workload, checks=set_check(workload.checks, new, now))


def _delay(before: CheckState, now: int) -> int | None:
    """The seconds before the workload is requeued: None for the first retry, then longer after each one.

    They count from its start on the worker that it leaves, so a job that ran longer than that queues again at once.
    """
    if not before.retries:
        return None
    ran = (now - before.since) // SECOND if before.state == READY else 0
    return max(0, min(_FIRST_DELAY << min(before.retries - 1, 10), _LONGEST_DELAY) - ran) or None


def _noted(workload: Workload, status: str, reason: str, message: str, now: int) -> Workload:
    """Set the condition PlacedOn. Each round is a transition."""
    noted = Condition(status, reason, message, now, workload.generation)
    return replace(workload, conditions={**workload.conditions, PLACED_ON: noted})
