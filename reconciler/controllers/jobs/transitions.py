"""The states of jobs and Workloads: three tables of states, guards and writes.

A job that a watch shows is looked at whenever it or a related object changes. The first row whose guard holds gives its
state. So the state follows from the objects alone, and does not depend on the state before:

    Shown --> OwnerUnseen | PodsTerminating | WorkloadDisowned | Owned | OwnerMissing | Unqueued | Terminating | Queued

A job that no watch shows may still exist, because watches are late and select by label. If such a job has Workloads
that depend on it, or another job waits for it, it is looked up by name:

    any of these -- Hidden --> Unresolved
    Unresolved -- Look --> Sought if an object depends on the response, otherwise Hidden
    Unresolved, Hidden -- Needed --> Sought
    Sought -- response --> Hidden, Missing, Replaced
    Sought, Hidden -- Named --> Unresolved, for another Workload
    Sought, Hidden, Missing, Replaced -- StillInUse --> Unresolved, after a while

The job leaves these states when a watch shows it. Only Workloads without usage are deleted without such a response.
A Workload has a state of its own if no visible job is represented by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from reconciler.controllers.jobs.looks import HiddenLook, JobLook, WorkloadLook
from reconciler.controllers.jobs.record import Event, JobState, WorkloadState
from reconciler.objects.wanted import WantedWrite

L = TypeVar("L")
S = TypeVar("S")


class Transition(NamedTuple, Generic[L, S]):
    """A row of a table: if `guard` holds, the object enters the state `then`.

    `writes`: returns the writes of the state.
    `why`: the reason for the state.
    """

    guard: Callable[[L], bool]
    then: S
    writes: Callable[[L], Iterable[WantedWrite]]
    why: str


class HiddenTransition(NamedTuple):
    """A transition of a job that no watch shows: from one of the states `at`, on `event`, if `guard` holds.

    `then`: the next state.
    `does`: what to do in it.
    `why`: the reason for it.
    """

    at: tuple[JobState, ...]
    event: Event
    guard: Callable[[HiddenLook], bool]
    then: JobState
    does: Callable[[HiddenLook], None]
    why: str


SHOWN: tuple[Transition[JobLook, JobState], ...] = (
    Transition(
        JobLook.owner_unseen,
        JobState.OWNER_UNSEEN,
        JobLook.writes_nothing,
        "each kind has its own watch: its owner may become visible a moment later",
    ),
    Transition(
        JobLook.pods_may_come,
        JobState.PODS_TERMINATING,
        JobLook.writes_nothing,
        "it is being deleted, and its last Pods may not be visible yet",
    ),
    Transition(
        JobLook.pods_terminate,
        JobState.PODS_TERMINATING,
        JobLook.writes_nothing,
        "it is being deleted, and its Pods still use the quota of its Workload",
    ),
    Transition(
        JobLook.deleting_and_disowned,
        JobState.TERMINATING,
        JobLook.writes_end_of_workload,
        "the garbage collector removes the owner reference before it deletes the job",
    ),
    Transition(
        JobLook.disowned_and_unconfirmed,
        JobState.WORKLOAD_DISOWNED,
        JobLook.asks,
        "its Workload does not name it any more: it may be gone, although the watch still shows it",
    ),
    Transition(
        JobLook.owned,
        JobState.OWNED,
        JobLook.writes_of_child,
        "the job above was admitted for it as well, so it runs and stops with that job",
    ),
    Transition(
        JobLook.owner_missing,
        JobState.OWNER_MISSING,
        JobLook.writes_stop,
        "the garbage collector deletes it, or removes its reference: until then it neither runs nor queues",
    ),
    Transition(
        JobLook.unqueued,
        JobState.UNQUEUED,
        JobLook.writes_life,
        "it names no queue, or its namespace is not managed: it runs without quota",
    ),
    Transition(
        JobLook.deleting, JobState.TERMINATING, JobLook.writes_life, "no Pods are left, so its Workload may finish"
    ),
    Transition(JobLook.always, JobState.QUEUED, JobLook.writes_life, "its Workload decides when it runs"),
)

_UNASKED = (JobState.UNRESOLVED, JobState.HIDDEN)
_OPEN = (JobState.UNRESOLVED, JobState.SOUGHT, JobState.HIDDEN)

HIDDEN: tuple[HiddenTransition, ...] = (
    HiddenTransition(
        (JobState.UNRESOLVED,),
        Event.LOOK,
        HiddenLook.workload_depends,
        JobState.SOUGHT,
        HiddenLook.asks,
        "a Workload has quota for it, or may get some: only the API server knows whether it exists",
    ),
    HiddenTransition(
        (JobState.UNRESOLVED,),
        Event.LOOK,
        HiddenLook.always,
        JobState.HIDDEN,
        HiddenLook.writes_nothing,
        "no Workload depends on whether it exists",
    ),
    HiddenTransition(
        _UNASKED,
        Event.NEEDED,
        HiddenLook.always,
        JobState.SOUGHT,
        HiddenLook.asks,
        "a job names it as its owner, and has waited for it",
    ),
    HiddenTransition(
        (JobState.SOUGHT, JobState.HIDDEN),
        Event.NAMED,
        HiddenLook.always,
        JobState.UNRESOLVED,
        HiddenLook.writes_nothing,
        "another Workload names it, so it has to be looked up again",
    ),
    HiddenTransition(
        (JobState.SOUGHT,),
        Event.FOUND,
        HiddenLook.always,
        JobState.HIDDEN,
        HiddenLook.writes_nothing,
        "it exists without the label that the watch selects",
    ),
    HiddenTransition(
        _OPEN,
        Event.NOT_FOUND,
        HiddenLook.always,
        JobState.MISSING,
        HiddenLook.concludes,
        "the API server says that it does not exist",
    ),
    HiddenTransition(
        _OPEN,
        Event.FOUND_ANOTHER,
        HiddenLook.always,
        JobState.REPLACED,
        HiddenLook.concludes,
        "the API server has another job under its name",
    ),
)

WORKLOADS: tuple[Transition[WorkloadLook, WorkloadState], ...] = (
    Transition(
        WorkloadLook.pods_may_come,
        WorkloadState.PODS_MAY_COME,
        WorkloadLook.writes_nothing,
        "its job is gone, and its last Pods may not be visible yet",
    ),
    Transition(
        WorkloadLook.gone, WorkloadState.GONE, WorkloadLook.writes_nothing, "the API server does not have it any more"
    ),
    Transition(WorkloadLook.pods_run, WorkloadState.PODS_RUN, WorkloadLook.writes_nothing, "Pods still use its quota"),
    Transition(
        WorkloadLook.unused_for_long,
        WorkloadState.UNUSED,
        WorkloadLook.deletes_unused,
        "its job is not visible, or not queued, and its quota would be unused",
    ),
    Transition(
        WorkloadLook.in_use_for_long,
        WorkloadState.UNDECIDED,
        WorkloadLook.asks_again,
        "its job may use its quota, and no watch reports the end of a job that it does not show",
    ),
    Transition(
        WorkloadLook.represents_a_job,
        WorkloadState.STANDS,
        WorkloadLook.writes_nothing,
        "it represents a visible job, which manages it",
    ),
    Transition(
        WorkloadLook.undecided,
        WorkloadState.UNDECIDED,
        WorkloadLook.writes_nothing,
        "it is not being deleted, and its job may exist",
    ),
    Transition(
        WorkloadLook.of_other_controllers,
        WorkloadState.OF_OTHERS,
        WorkloadLook.writes_nothing,
        "another controller manages its owner",
    ),
    Transition(
        WorkloadLook.in_use,
        WorkloadState.IN_USE,
        WorkloadLook.waits_for_job,
        "another Workload represents its job, which still has pods on the quota of this one",
    ),
    Transition(
        WorkloadLook.job_is_replaced,
        WorkloadState.REPLACED,
        WorkloadLook.deletes_replaced,
        "another job has the name of its job, and may need a Workload with this name",
    ),
    Transition(
        WorkloadLook.job_is_gone,
        WorkloadState.ORPHANED,
        WorkloadLook.finishes,
        "its job is gone, and so are its Pods: its quota is free",
    ),
    Transition(
        WorkloadLook.always, WorkloadState.RELEASED, WorkloadLook.releases, "it is being deleted, and nothing uses it"
    ),
)
