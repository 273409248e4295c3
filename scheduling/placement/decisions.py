"""What placement asks for: one small frozen dataclass each. Those about the workload here change its status."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from scheduling.objects.workload import CheckState, Condition, Workload
from scheduling.placement.group import NOMINATED, PLACED, PLACED_ON
from scheduling.status.checks import RETRY, set_check
from scheduling.status.progress import finish

_FIRST_DELAY, _LONGEST_DELAY = 10, 600


@dataclass(frozen=True, slots=True)
class CreateClone:
    cluster: str


@dataclass(frozen=True, slots=True)
class UpdateClone:
    """Let its copy ask for what the workload here asks for, without starting anew."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DeleteClone:
    cluster: str


@dataclass(frozen=True, slots=True)
class CreateJob:
    cluster: str


@dataclass(frozen=True, slots=True)
class TrimJob:
    """Take away the Pods of a group that are not here any more."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DeleteJob:
    """`running`: it is to be there until its pods are gone."""

    cluster: str
    running: bool = False


@dataclass(frozen=True, slots=True)
class CopyStatus:
    """Let the job here tell what the one on the worker tells."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Settle:
    """Let the job here tell that nothing runs any more: nobody else will."""


@dataclass(frozen=True, slots=True)
class EvictRemote:
    cluster: str
    message: str


@dataclass(frozen=True, slots=True)
class OpenGate:
    """It may preempt others there."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Nominate:
    """`round` 0: the round goes on as it was."""

    clusters: tuple[str, ...]
    round: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """From now on a job may be on that cluster."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Unplace:
    """It is not to run there after all."""


@dataclass(frozen=True, slots=True)
class SetCheck:
    """`told`: it is worth an Event; `warning` a warning."""

    state: str
    message: str
    told: bool = True
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Again:
    """Ask again at this moment, in nanoseconds."""

    at: int


Remote: TypeAlias = CreateClone | UpdateClone | DeleteClone | CreateJob | TrimJob | DeleteJob | EvictRemote | OpenGate
"""What is written on a worker."""
Local: TypeAlias = Nominate | Place | Unplace | SetCheck | Finish
"""What is written of the workload here."""
Decision: TypeAlias = Remote | Local | CopyStatus | Settle | Again


def applied(workload: Workload, check: str, decision: Local, now: int) -> Workload:
    """The workload as the decision makes it; `check` is the name of its check of MultiKueue."""
    match decision:
        case Nominate():
            named = replace(workload, nominated=decision.clusters)
            return _noted(named, "False", NOMINATED, f"round {decision.round}", now) if decision.round else named
        case Place():
            chosen = replace(workload, cluster=decision.cluster, nominated=())
            return _noted(chosen, "True", PLACED, decision.cluster, now)
        case Unplace():
            return replace(workload, cluster="")
        case SetCheck():
            return _checked(workload, check, decision, now)
        case Finish():
            return finish(workload, decision.reason, decision.message, now)


def _checked(workload: Workload, name: str, decision: SetCheck, now: int) -> Workload:
    before = workload.check(name) or CheckState(name, "")
    later = _delay(before.retries or 0) if decision.state == RETRY else None
    new = replace(before, state=decision.state, message=decision.message, since=now, requeue_after=later)
    return replace(workload, checks=set_check(workload.checks, new, now))


def _delay(retries: int) -> int | None:
    """Seconds before it queues again: none the first time, then longer each time that no cluster keeps it."""
    return min(_FIRST_DELAY << min(retries - 1, 10), _LONGEST_DELAY) if retries else None


def _noted(workload: Workload, status: str, reason: str, message: str, now: int) -> Workload:
    """Each round is a transition."""
    noted = Condition(status, reason, message, now, workload.generation)
    return replace(workload, conditions={**workload.conditions, PLACED_ON: noted})
